#define _GNU_SOURCE
#include "counting_malloc.h"

#include <errno.h>
#include <execinfo.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// glibc's own, under the names that it keeps for programs that replace malloc.
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static _Atomic int32_t watched;
static _Atomic uint64_t count;
static counted_call calls[COUNTED_CALLS_MAX];
static _Thread_local int32_t own;
static _Thread_local int counting;

static void note(const char *function, size_t bytes) {
    int32_t thread = atomic_load_explicit(&watched, memory_order_acquire);
    if (thread == 0 || counting) return;
    if (own == 0) own = (int32_t)syscall(SYS_gettid);
    if (own != thread) return;
    counting = 1;
    uint64_t index = atomic_fetch_add(&count, 1);
    if (index < COUNTED_CALLS_MAX) {
        counted_call *call = &calls[index];
        call->function = function;
        call->bytes = bytes;
        void *returns[COUNTED_FRAMES_MAX];
        call->frames = backtrace(returns, COUNTED_FRAMES_MAX);
        for (int32_t frame = 0; frame < call->frames; frame++) call->returns[frame] = (uint64_t)(uintptr_t)returns[frame];
    }
    counting = 0;
}

void counting_watch(int32_t tid) {
    // The first backtrace loads a library.
    void *returns[4];
    backtrace(returns, 4);
    atomic_store(&count, 0);
    atomic_store_explicit(&watched, tid, memory_order_release);
}

uint64_t counting_count(void) { return atomic_load(&count); }

const counted_call *counting_call(int32_t index) { return &calls[index]; }

void *malloc(size_t bytes) {
    note("malloc", bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes) {
    note("calloc", number * bytes);
    return __libc_calloc(number, bytes);
}

void *realloc(void *memory, size_t bytes) {
    note("realloc", bytes);
    return __libc_realloc(memory, bytes);
}

void free(void *memory) {
    // Freeing a null pointer takes no lock.
    if (memory != NULL) note("free", 0);
    __libc_free(memory);
}

void *memalign(size_t alignment, size_t bytes) {
    note("memalign", bytes);
    return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
    note("aligned_alloc", bytes);
    return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **memory, size_t alignment, size_t bytes) {
    note("posix_memalign", bytes);
    *memory = __libc_memalign(alignment, bytes);
    return *memory == NULL ? ENOMEM : 0;
}
