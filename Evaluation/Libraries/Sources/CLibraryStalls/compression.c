// zlib, bzip2, xz, zstd.
#include "tables.h"

#include <bzlib.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { plain_bytes = 1 << 18 };
static unsigned char plain[plain_bytes], packed[2 * plain_bytes], unpacked[plain_bytes];
static size_t packed_bytes;
static char path[64];

static const char *make_text(void) {
    fill_with_text(plain, plain_bytes, 1);
    return NULL;
}

static const char *make_packed_text(void) {
    make_text();
    uLongf length = sizeof packed;
    if (compress(packed, &length, plain, plain_bytes) != Z_OK) return "compress failed";
    packed_bytes = length;
    return NULL;
}

static const char *make_packed_file(void) {
    make_text();
    int file = scratch_file(0, path);
    gzFile writer = file < 0 ? NULL : gzdopen(file, "w");
    if (!writer) return failed("/var/tmp");
    for (int round = 0; round < 16; round++) gzwrite(writer, plain, plain_bytes);
    gzclose(writer);
    return NULL;
}

static const char *make_zstd_text(void) {
    make_text();
    packed_bytes = ZSTD_compress(packed, sizeof packed, plain, plain_bytes, 3);
    return ZSTD_isError(packed_bytes) ? "ZSTD_compress failed" : NULL;
}

int compress_backup(moment end) {
    int bytes = 0;
    while (moment_now() < end) {
        uLongf length = sizeof packed;
        compress2(packed, &length, plain, plain_bytes, 6);
        bytes += (int)length;
    }
    return bytes;
}

int unpack_backup(moment end) {
    int bytes = 0;
    while (moment_now() < end) {
        uLongf length = sizeof unpacked;
        uncompress(unpacked, &length, packed, packed_bytes);
        bytes += (int)length;
    }
    return bytes;
}

int checksum_archive(moment end) {
    uLong sum = 0;
    while (moment_now() < end) sum = crc32(sum, plain, plain_bytes);
    return (int)sum;
}

int count_log_lines(moment end) {
    int lines = 0;
    while (moment_now() < end) {
        gzFile log = gzopen(path, "r");
        char line[512];
        while (moment_now() < end && gzgets(log, line, sizeof line)) lines++;
        gzclose(log);
    }
    unlink(path);
    return lines;
}

int archive_with_bzip2(moment end) {
    int bytes = 0;
    while (moment_now() < end) {
        unsigned length = sizeof packed;
        BZ2_bzBuffToBuffCompress((char *)packed, &length, (char *)plain, plain_bytes, 9, 0, 0);
        bytes += (int)length;
    }
    return bytes;
}

int archive_with_xz(moment end) {
    int bytes = 0;
    while (moment_now() < end) {
        size_t length = 0;
        lzma_easy_buffer_encode(2, LZMA_CHECK_CRC64, NULL, plain, plain_bytes, packed, &length, sizeof packed);
        bytes += (int)length;
    }
    return bytes;
}

int pack_snapshot(moment end) {
    int bytes = 0;
    while (moment_now() < end) bytes += (int)ZSTD_compress(packed, sizeof packed, plain, plain_bytes, 9);
    return bytes;
}

int restore_snapshot(moment end) {
    int bytes = 0;
    while (moment_now() < end) bytes += (int)ZSTD_decompress(unpacked, sizeof unpacked, packed, packed_bytes);
    return bytes;
}

const struct stall compression_stalls[] = {
    {"zlib-deflate", "cpu", "compress_backup", NULL, NULL, "compress2", make_text, NULL, compress_backup},
    {"zlib-inflate", "cpu", "unpack_backup", NULL, NULL, "uncompress", make_packed_text, NULL, unpack_backup},
    {"zlib-crc32", "cpu", "checksum_archive", NULL, NULL, "crc32", make_text, NULL, checksum_archive},
    {"zlib-gzgets", "cpu", "count_log_lines", NULL, NULL, "a packed log is read line by line", make_packed_file, NULL,
     count_log_lines},
    {"bzip2-compress", "cpu", "archive_with_bzip2", NULL, NULL, "BZ2_bzBuffToBuffCompress", make_text, NULL, archive_with_bzip2},
    {"xz-encode", "cpu", "archive_with_xz", NULL, NULL, "lzma_easy_buffer_encode", make_text, NULL, archive_with_xz},
    {"zstd-compress", "cpu", "pack_snapshot", NULL, NULL, "ZSTD_compress", make_text, NULL, pack_snapshot},
    {"zstd-decompress", "cpu", "restore_snapshot", NULL, NULL, "ZSTD_decompress", make_zstd_text, NULL, restore_snapshot},
    {0},
};
