#define _GNU_SOURCE
#include "real.h"

#include <dlfcn.h>
#include <errno.h>

void *real_functions[REAL_COUNT];

#define REAL_NAME(name) [REAL_##name] = #name,
static const char *const names[REAL_COUNT] = {REAL_LIBC(REAL_NAME) REAL_LIBURING(REAL_NAME)};

__attribute__((noinline, cold)) void *real_resolve(int number) {
    int saved = errno;
    void *function = dlsym(RTLD_NEXT, names[number]);
    if (function != 0) __atomic_store_n(&real_functions[number], function, __ATOMIC_RELAXED);
    errno = saved;
    return function;
}

void real_resolve_all(void) {
    for (int number = 0; number < REAL_LIBC_COUNT; number++) real_resolve(number);
}
