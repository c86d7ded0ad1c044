// Data that every wrapped call reads, on one page: a program returns from the kernel with cold caches, and each further page costs some
// nanoseconds.
//
// The page reads 0 after a fork (MADV_WIPEONFORK), which distinguishes a child from its parent; so all data here can be recreated.
#pragma once

#include "real.h"

#include <stdint.h>

#pragma GCC visibility push(hidden)

// Whole pages of the library's zeroed memory, which is anonymous. The largest page size that kernels of the architecture may have.
#if defined(__aarch64__)
enum { HOT_BYTES = 65536 };
#else
enum { HOT_BYTES = 4096 };
#endif

typedef union hot_page {
    struct {
        // Our number of the current process; 0: just forked, or no table.
        uint32_t process;
        // The kernel's process ID, once the number above is set.
        int32_t pid;
        // The functions that ours wrap; NULL: not resolved yet.
        void *functions[REAL_COUNT];
    };
    char bytes[HOT_BYTES];
} hot_page;

extern hot_page hot __attribute__((aligned(HOT_BYTES)));

static inline uint32_t hot_process(void) { return __atomic_load_n(&hot.process, __ATOMIC_RELAXED); }

// NULL if the libraries after this one have no such function.
static inline void *real_function(int number) {
    void *function = __atomic_load_n(&hot.functions[number], __ATOMIC_RELAXED);
    return __builtin_expect(function != 0, 1) ? function : real_resolve(number);
}

#pragma GCC visibility pop
