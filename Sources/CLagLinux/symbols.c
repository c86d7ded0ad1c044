#define _GNU_SOURCE
#include "cll_symbols.h"

#include <dlfcn.h>
#include <sys/auxv.h>

const void *cll_vdso_image(void) { return (const void *)getauxval(AT_SYSINFO_EHDR); }

// If the C++ runtime is linked statically, the loader does not know it. Weak: a program without one still links.
extern char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status) __attribute__((weak));

cll_cxa_demangle cll_find_cxa_demangle(void) {
    if (__cxa_demangle != NULL) return __cxa_demangle;
    // POSIX guarantees that a function's address fits in a void pointer; ISO C does not, hence the union.
    union {
        void *object;
        cll_cxa_demangle function;
    } found = {.object = dlsym(RTLD_DEFAULT, "__cxa_demangle")};
    return found.function;
}
