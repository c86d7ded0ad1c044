#define _GNU_SOURCE
#include "otel_writer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

// MARK: OTEP 4947

typedef struct __attribute__((packed, aligned(2))) {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid;
    uint8_t trace_flags;
    uint16_t attrs_data_size;
    uint8_t attrs_data[612];
} thread_record;

_Static_assert(sizeof(thread_record) == 640, "as the standard recommends");

#ifdef WRITER_STORAGE_BYTES
// More than fits into the space that the dynamic linker reserves for libraries loaded later.
_Thread_local char writer_storage[WRITER_STORAGE_BYTES] = {1};
#endif
// It need not be the first of a module's variables.
_Thread_local uint64_t writer_attachments = 3;
__attribute__((visibility("default"))) _Thread_local thread_record *otel_thread_ctx_v1;
static _Thread_local thread_record own_record;

void writer_attach(const uint8_t trace[16], const uint8_t span[8], const uint8_t *attributes, uint16_t count) {
    otel_thread_ctx_v1 = NULL;
    atomic_signal_fence(memory_order_seq_cst);
    memcpy(own_record.trace_id, trace, sizeof(own_record.trace_id));
    memcpy(own_record.span_id, span, sizeof(own_record.span_id));
    own_record.trace_flags = 1;
    if (count > sizeof(own_record.attrs_data)) count = sizeof(own_record.attrs_data);
    memcpy(own_record.attrs_data, attributes, count);
    own_record.attrs_data_size = count;
    own_record.valid = 1;
    atomic_signal_fence(memory_order_seq_cst);
    otel_thread_ctx_v1 = &own_record;
    writer_attachments++;
}

void writer_detach(void) {
    otel_thread_ctx_v1 = NULL;
    atomic_signal_fence(memory_order_seq_cst);
}

// MARK: OTEP 4719

typedef struct {
    char signature[8];
    uint32_t version;
    uint32_t payload_size;
    _Atomic uint64_t monotonic_published_at_ns;
    uint64_t payload;
} process_header;

_Static_assert(sizeof(process_header) == 32, "as the standard has it");

typedef struct {
    uint8_t *bytes;
    size_t count;
} message;

static void put_number(message *to, uint64_t number) {
    for (; number > 127; number >>= 7) to->bytes[to->count++] = (uint8_t)(number | 128);
    to->bytes[to->count++] = (uint8_t)number;
}

// A field with a length (wire type 2).
static void put_field(message *to, uint32_t number, const void *bytes, size_t count) {
    put_number(to, number << 3 | 2);
    put_number(to, count);
    memcpy(to->bytes + to->count, bytes, count);
    to->count += count;
}

enum { PAYLOAD_BYTES = 32768 };

// A KeyValue of ProcessContext.attributes.
static void put_attribute(message *to, const char *key, const message *value) {
    message entry = {malloc(PAYLOAD_BYTES), 0};
    put_field(&entry, 1, key, strlen(key));
    put_field(&entry, 2, value->bytes, value->count);
    put_field(to, 2, entry.bytes, entry.count);
    free(entry.bytes);
}

static message encode(const char *schema, const char *const *keys, size_t count) {
    message whole = {malloc(PAYLOAD_BYTES), 0}, value = {malloc(PAYLOAD_BYTES), 0}, array = {malloc(PAYLOAD_BYTES), 0};
    // A resource, which is irrelevant here.
    message resource = {malloc(PAYLOAD_BYTES), 0}, name = {malloc(PAYLOAD_BYTES), 0};
    put_field(&name, 1, "shop", 4);
    message entry = {malloc(PAYLOAD_BYTES), 0};
    put_field(&entry, 1, "service.name", 12);
    put_field(&entry, 2, name.bytes, name.count);
    put_field(&resource, 1, entry.bytes, entry.count);
    put_field(&whole, 1, resource.bytes, resource.count);
    put_field(&value, 1, schema, strlen(schema));
    put_attribute(&whole, "threadlocal.schema_version", &value);
    for (size_t key = 0; key < count; key++) {
        value.count = 0;
        put_field(&value, 1, keys[key], strlen(keys[key]));
        put_field(&array, 1, value.bytes, value.count);
    }
    value.count = 0;
    put_field(&value, 5, array.bytes, array.count);
    put_attribute(&whole, "threadlocal.attribute_key_map", &value);
    free(value.bytes), free(array.bytes), free(resource.bytes), free(name.bytes), free(entry.bytes);
    return whole;
}

static process_header *header;

static uint64_t boot_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_BOOTTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static process_header *map_header(int naming) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int file = naming == WRITER_ANONYMOUS ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && ftruncate(file, (off_t)page) != 0) return NULL;
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED || madvise(memory, page, MADV_DONTFORK) != 0) return NULL;
    return memory;
}

int writer_publish(int naming, const char *schema, const char *const *keys, size_t count) {
    message payload = encode(schema, keys, count);
    uint64_t before = 0;
    if (header == NULL) {
        header = map_header(naming);
        if (header == NULL) return -1;
        memcpy(header->signature, "OTEL_CTX", 8);
        header->version = 2;
    } else {
        before = atomic_exchange(&header->monotonic_published_at_ns, 0);
        atomic_thread_fence(memory_order_seq_cst);
    }
    // Readers may still use the previous one.
    header->payload = (uint64_t)(uintptr_t)payload.bytes;
    header->payload_size = (uint32_t)payload.count;
    atomic_thread_fence(memory_order_seq_cst);
    uint64_t now = boot_ns();
    header->monotonic_published_at_ns = now > before ? now : before + 1;
    if (naming != WRITER_MEMFD) prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, sysconf(_SC_PAGESIZE), "OTEL_CTX");
    return 0;
}
