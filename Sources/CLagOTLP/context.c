#define _GNU_SOURCE
#include "clo_context.h"

#include "clb_context.h"
#include "cll_procfs_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

// MARK: The thread context

enum { CLO_NAME_KEY = 0 };

typedef struct __attribute__((packed, aligned(2))) thread_record {
    uint8_t trace_id[16], span_id[8];  // big-endian; zeros: none
    uint8_t valid;
    uint8_t trace_flags;
    uint16_t attributes_bytes;
    uint8_t key, name_bytes;
    uint8_t name[CLB_CONTEXT_NAME_BYTES];
} thread_record;

_Static_assert(offsetof(thread_record, key) == 28, "as the standard has it");

// What is written of the context in the cell of the same number, by the thread that runs it alone.
typedef struct record_cell {
    uint64_t token;
    thread_record record;
} record_cell;

static record_cell *records;

__attribute__((visibility("default"), used)) _Thread_local const thread_record *volatile otel_thread_ctx_v1;

// Swift's driver gives the linker what objects have in this section (swift-autolink-extract): a program's own symbols are dynamic only if the
// linker is asked for it, and a package that others depend on cannot say so in its manifest.
__attribute__((used, section(".swift1_autolink_entries"))) static const char linker_options[] =
    "-Xlinker\0--export-dynamic-symbol=otel_thread_ctx_v1";

int clo_context_is_exported(void) { return dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1") == (const void *)&otel_thread_ctx_v1; }

static void put_big_endian(uint8_t *to, uint64_t number) {
    for (int byte = 7; byte >= 0; byte--, number >>= 8) to[byte] = (uint8_t)number;
}

static void write_record(record_cell *cell, uint64_t token, const clb_context *context) {
    put_big_endian(cell->record.trace_id, context->trace_high);
    put_big_endian(cell->record.trace_id + 8, context->trace_low);
    put_big_endian(cell->record.span_id, context->span);
    uint8_t length = (uint8_t)context->lengths;
    cell->record.key = CLO_NAME_KEY;
    cell->record.name_bytes = length;
    memcpy(cell->record.name, context->text, length);
    cell->record.attributes_bytes = (uint16_t)(length > 0 ? 2 + length : 0);
    cell->record.valid = 1;
    cell->token = token;
}

// The thread runs this context from now on; 0: none. What is read meanwhile is read of a stopped thread: the order of the instructions is all that counts.
// The record of a context that is over is nobody's: the variable of the thread that ran it was set before it was closed.
static void attach(uint64_t token) {
    uint64_t index = token >> CLB_CONTEXT_TOKEN_SHIFT;
    if (token == 0 || index >= CLB_CONTEXTS) {
        otel_thread_ctx_v1 = NULL;
        return;
    }
    record_cell *cell = &records[index];
    if (cell->token != token) write_record(cell, token, &clb_contexts_all->cells[index]);
    atomic_signal_fence(memory_order_seq_cst);
    otel_thread_ctx_v1 = &cell->record;
}

// MARK: The process context

typedef struct process_header {
    char signature[8];
    uint32_t version;
    uint32_t payload_bytes;
    _Atomic uint64_t published_ns;
    uint64_t payload;
} process_header;

_Static_assert(sizeof(process_header) == 32, "as the standard has it");

static const char name[] = "OTEL_CTX";

static void find_name(char *line, void *found) {
    if (strstr(line, name) != NULL) *(int *)found = 1;
}

// In a mapping of its own, by whose name readers find it: of a file in memory, or where that is not allowed by the kernel's name for it.
static void *map(size_t bytes) {
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | (file < 0 ? MAP_ANONYMOUS : 0), file, 0);
    if (file >= 0) close(file);
    if (memory == MAP_FAILED) return NULL;
    // A child is another process.
    if (madvise(memory, bytes, MADV_DONTFORK) != 0) {
        munmap(memory, bytes);
        return NULL;
    }
    return memory;
}

int clo_context_publish(const void *payload, size_t bytes) {
    int is_there = 0;
    cll_maps_each(getpid(), find_name, &is_there);
    if (is_there) return EEXIST;
    if (records == NULL) {
        void *memory = mmap(NULL, CLB_CONTEXTS * sizeof(record_cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return errno;
        records = memory;
    }
    process_header *header = map(sizeof(process_header) + bytes);
    if (header == NULL) return errno != 0 ? errno : ENOMEM;
    memcpy(header + 1, payload, bytes);
    header->version = 2;
    header->payload_bytes = (uint32_t)bytes;
    header->payload = (uint64_t)(uintptr_t)(header + 1);
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    header->published_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    // Last: what has it is complete.
    atomic_thread_fence(memory_order_seq_cst);
    memcpy(header->signature, name, sizeof(header->signature));
    prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, sizeof(process_header) + bytes, name);
    __atomic_store_n(&clb_context_observer, attach, __ATOMIC_RELEASE);
    return 0;
}
