// What every wrapped call reads, on one page: a program comes back from the kernel with cold caches, where each further page costs some
// nanoseconds more.
//
// The page reads 0 after a fork (MADV_WIPEONFORK), which is how a child is distinguished from its parent; so all that is here can be made again.
#pragma once

#include "real.h"

#include <stdint.h>

#pragma GCC visibility push(hidden)

// Whole pages of the library's zeroed memory, which is anonymous. The largest pages that kernels of the architecture may have.
#if defined(__aarch64__)
enum { HOT_BYTES = 65536 };
#else
enum { HOT_BYTES = 4096 };
#endif

typedef union hot_page {
    struct {
        // The number of the present process; 0: forked just now, or there is no table.
        uint32_t process;
        // The kernel's number of it, once there is one above.
        int32_t pid;
        // The functions behind ours; NULL: not resolved yet.
        void *functions[REAL_COUNT];
    };
    char bytes[HOT_BYTES];
} hot_page;

extern hot_page hot __attribute__((aligned(HOT_BYTES)));

static inline uint32_t hot_process(void) { return __atomic_load_n(&hot.process, __ATOMIC_RELAXED); }

// NULL when the libraries behind this one have no such function.
static inline void *real_function(int number) {
    void *function = __atomic_load_n(&hot.functions[number], __ATOMIC_RELAXED);
    return __builtin_expect(function != 0, 1) ? function : real_resolve(number);
}

#pragma GCC visibility pop
