#define _GNU_SOURCE
#include "clo_context.h"

#include "clb_context.h"
#include "cll_procfs_text.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
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
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8
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

// Weak: another library of the program may have its own.
__attribute__((visibility("default"), weak)) _Thread_local const thread_record *volatile otel_thread_ctx_v1;

// Swift's driver gives the linker what objects have in this section (swift-autolink-extract): a program's own symbols are dynamic only if the
// linker is asked for it, and a package that others depend on cannot say so in its manifest.
__asm__(".pushsection .swift1_autolink_entries,\"e\"\n"
        ".asciz \"-Xlinker\"\n"
        ".asciz \"--export-dynamic-symbol=otel_thread_ctx_v1\"\n"
        ".popsection");

int clo_context_is_exported(void) { return dlsym(RTLD_DEFAULT, "otel_thread_ctx_v1") == (const void *)&otel_thread_ctx_v1; }

static void put_big_endian(uint8_t *to, uint64_t number) {
    for (int byte = 7; byte >= 0; byte--, number >>= 8) to[byte] = (uint8_t)number;
}

// How much of a text that may have been cut within a character is whole ones.
static uint8_t whole_characters(const uint8_t *text, uint8_t bytes) {
    uint8_t begin = bytes;
    while (begin > 0 && (text[begin - 1] & 0xc0) == 0x80) begin--;
    if (begin == 0) return bytes;
    uint8_t first = text[begin - 1];
    int needed = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
    return begin - 1 + needed <= bytes ? bytes : (uint8_t)(begin - 1);
}

static void write_record(record_cell *cell, uint64_t token, const clb_context *context) {
    put_big_endian(cell->record.trace_id, context->trace_high);
    put_big_endian(cell->record.trace_id + 8, context->trace_low);
    put_big_endian(cell->record.span_id, context->span);
    uint8_t length = whole_characters((const uint8_t *)context->text, (uint8_t)context->lengths);
    cell->record.key = CLO_NAME_KEY;
    cell->record.name_bytes = length;
    memcpy(cell->record.name, context->text, length);
    cell->record.attributes_bytes = (uint16_t)(length > 0 ? 2 + length : 0);
    cell->record.valid = 1;
    cell->token = token;
}

// The thread runs this context from now on; 0: none. What is read meanwhile is read of a stopped thread: the order of the instructions is all that counts.
// The record of a context that is over is in no thread's variable: that of the thread that ran it was set before it was closed.
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
    static const char *const names[] = {"/memfd:OTEL_CTX", "[anon_shmem:OTEL_CTX]", "[anon:OTEL_CTX]"};
    for (int index = 0; index < 3; index++) *(int *)found |= strstr(line, names[index]) != NULL;
}

// In a mapping of its own, by whose name readers find it: of a file in memory, or where that is not allowed by the kernel's name for it.
static void *map(size_t bytes, int *has_file) {
    int file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    // Before Linux 6.3.
    if (file < 0 && errno == EINVAL) file = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && ftruncate(file, (off_t)bytes) != 0) {
        close(file);
        file = -1;
    }
    *has_file = file >= 0;
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

static int publish(const void *payload, size_t bytes) {
    int is_there = 0, has_file = 0;
    int failure = cll_maps_each(getpid(), find_name, &is_there);
    if (failure != 0) return failure;
    if (is_there) return EEXIST;
    if (records == NULL) {
        void *memory = mmap(NULL, CLB_CONTEXTS * sizeof(record_cell), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) return errno;
        records = memory;
    }
    errno = 0;
    process_header *header = map(sizeof(process_header) + bytes, &has_file);
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
    // Also of a file, where the kernel refuses it: some readers wait for the call.
    if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, header, sizeof(process_header) + bytes, name) != 0 && !has_file) {
        munmap(header, sizeof(process_header) + bytes);
        return ENOTSUP;
    }
    __atomic_store_n(&clb_context_observer, attach, __ATOMIC_RELEASE);
    return 0;
}

int clo_context_publish(const void *payload, size_t bytes) {
    static pthread_mutex_t publishing = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&publishing);
    int result = publish(payload, bytes);
    pthread_mutex_unlock(&publishing);
    return result;
}
