#define _GNU_SOURCE
#include "hot.h"
#include "real.h"

#include <dlfcn.h>
#include <errno.h>

hot_page hot __attribute__((aligned(HOT_BYTES)));

// A child that was forked in the midst of the loader's work must not ask the loader.
static void *known[REAL_COUNT];

#define REAL_NAME(name) [REAL_##name] = #name,
static const char *const names[REAL_COUNT] = {REAL_LIBC(REAL_NAME) REAL_LIBURING(REAL_NAME)};

__attribute__((noinline, cold)) void *real_resolve(int number) {
    void *function = __atomic_load_n(&known[number], __ATOMIC_RELAXED);
    if (function == 0) {
        int saved = errno;
        function = dlsym(RTLD_NEXT, names[number]);
        errno = saved;
        __atomic_store_n(&known[number], function, __ATOMIC_RELAXED);
    }
    if (function != 0) __atomic_store_n(&hot.functions[number], function, __ATOMIC_RELAXED);
    return function;
}

void real_resolve_all(void) {
    for (int number = 0; number < REAL_LIBC_COUNT; number++) real_resolve(number);
}
