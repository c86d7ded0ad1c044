// brotli, PNG, JPEG, libarchive.
#include "tables.h"

#include <archive.h>
#include <archive_entry.h>
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

enum { plain_bytes = 1 << 18, side = 256 };
static unsigned char plain[plain_bytes], packed[4 * plain_bytes], unpacked[plain_bytes];
static size_t packed_bytes;
static unsigned checksum;

static const char *make_pixels(void) {
    fill_with_text(plain, plain_bytes, 7);
    return NULL;
}

static const char *make_brotli(void) {
    make_pixels();
    packed_bytes = sizeof packed;
    return BrotliEncoderCompress(5, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, plain_bytes, plain, &packed_bytes, packed)
        ? NULL : "BrotliEncoderCompress failed";
}

__attribute__((noinline)) static size_t write_png(void) {
    png_image image = {.version = PNG_IMAGE_VERSION, .width = side, .height = side, .format = PNG_FORMAT_RGBA};
    png_alloc_size_t length = sizeof packed;
    return png_image_write_to_memory(&image, packed, &length, 0, plain, 0, NULL) ? length : 0;
}

static const char *make_png(void) {
    make_pixels();
    packed_bytes = write_png();
    return packed_bytes ? NULL : "png_image_write_to_memory failed";
}

static size_t write_jpeg(void) {
    struct jpeg_compress_struct image;
    struct jpeg_error_mgr errors;
    image.err = jpeg_std_error(&errors);
    jpeg_create_compress(&image);
    unsigned char *buffer = packed;
    unsigned long length = sizeof packed;
    jpeg_mem_dest(&image, &buffer, &length);
    image.image_width = image.image_height = side;
    image.input_components = 3;
    image.in_color_space = JCS_RGB;
    jpeg_set_defaults(&image);
    jpeg_start_compress(&image, TRUE);
    while (image.next_scanline < image.image_height) {
        JSAMPROW row = plain + image.next_scanline * side * 3;
        jpeg_write_scanlines(&image, &row, 1);
    }
    jpeg_finish_compress(&image);
    jpeg_destroy_compress(&image);
    return length;
}

static const char *make_jpeg(void) {
    make_pixels();
    packed_bytes = write_jpeg();
    return NULL;
}

int pack_web_page(moment end) {
    while (moment_now() < end) {
        size_t length = sizeof packed;
        BrotliEncoderCompress(6, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_TEXT, plain_bytes, plain, &length, packed);
        checksum += (unsigned)length;
    }
    return (int)checksum;
}

int unpack_web_page(moment end) {
    while (moment_now() < end) {
        size_t length = sizeof unpacked;
        BrotliDecoderDecompress(packed_bytes, packed, &length, unpacked);
        checksum += (unsigned)length;
    }
    return (int)checksum;
}

int save_screenshot(moment end) {
    while (moment_now() < end) checksum += (unsigned)write_png();
    return (int)checksum;
}

int show_icon(moment end) {
    while (moment_now() < end) {
        png_image image = {.version = PNG_IMAGE_VERSION};
        png_image_begin_read_from_memory(&image, packed, packed_bytes);
        image.format = PNG_FORMAT_RGBA;
        png_image_finish_read(&image, NULL, unpacked, 0, NULL);
        checksum += unpacked[0];
    }
    return (int)checksum;
}

int show_photo(moment end) {
    while (moment_now() < end) {
        struct jpeg_decompress_struct image;
        struct jpeg_error_mgr errors;
        image.err = jpeg_std_error(&errors);
        jpeg_create_decompress(&image);
        jpeg_mem_src(&image, packed, packed_bytes);
        jpeg_read_header(&image, TRUE);
        jpeg_start_decompress(&image);
        while (image.output_scanline < image.output_height) {
            JSAMPROW row = unpacked;
            jpeg_read_scanlines(&image, &row, 1);
        }
        jpeg_finish_decompress(&image);
        jpeg_destroy_decompress(&image);
        checksum += unpacked[0];
    }
    return (int)checksum;
}

int export_project(moment end) {
    while (moment_now() < end) {
        struct archive *archive = archive_write_new();
        archive_write_set_format_pax_restricted(archive);
        archive_write_add_filter_gzip(archive);
        size_t length = 0;
        archive_write_open_memory(archive, packed, sizeof packed, &length);
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, "notes.txt");
        archive_entry_set_size(entry, plain_bytes);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 0644);
        archive_write_header(archive, entry);
        archive_write_data(archive, plain, plain_bytes);
        archive_entry_free(entry);
        archive_write_free(archive);
        checksum += (unsigned)length;
    }
    return (int)checksum;
}

const struct stall codec_stalls[] = {
    {"brotli-encode", "cpu", "pack_web_page", NULL, NULL, "BrotliEncoderCompress", make_pixels, NULL, pack_web_page},
    {"brotli-decode", "cpu", "unpack_web_page", NULL, NULL, "BrotliDecoderDecompress", make_brotli, NULL, unpack_web_page},
    {"png-write", "cpu", "write_png", "save_screenshot", NULL, "png_image_write_to_memory", make_pixels, NULL, save_screenshot},
    {"png-read", "cpu", "show_icon", NULL, NULL, "png_image_finish_read", make_png, NULL, show_icon},
    {"jpeg-decode", "cpu", "show_photo", NULL, NULL, "jpeg_read_scanlines", make_jpeg, NULL, show_photo},
    {"archive-write-tar", "cpu", "export_project", NULL, NULL, "libarchive writes a packed tar file", make_pixels, NULL,
     export_project},
    {0},
};
