#define _GNU_SOURCE
#include "clu_loader.h"
#include "libunwind_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

#if defined(__x86_64__)
#define LIBRARY "libunwind-x86_64.so.8"
#define PREFIX "_Ux86_64_"
#elif defined(__aarch64__)
#define LIBRARY "libunwind-aarch64.so.8"
#define PREFIX "_Uaarch64_"
#else
#error "LagMonitor knows x86-64 and aarch64"
#endif

static libunwind_calls calls;
static const char *failure;
static char failure_text[512];
static int loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *take(void *handle, const char *name) {
    void *address = dlsym(handle, name);
    if (address == NULL && failure == NULL) {
        snprintf(failure_text, sizeof(failure_text), "%s has no symbol %s: libunwind 1.6 or newer is needed", LIBRARY, name);
        failure = failure_text;
    }
    return address;
}

static void load(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(failure_text, sizeof(failure_text), "cannot load %s (Debian package libunwind8): %s", LIBRARY,
                 reason ? reason : "no reason given");
        failure = failure_text;
        return;
    }
    calls.create_addr_space = take(handle, PREFIX "create_addr_space");
    calls.destroy_addr_space = take(handle, PREFIX "destroy_addr_space");
    calls.set_caching_policy = take(handle, PREFIX "set_caching_policy");
    calls.set_cache_size = take(handle, PREFIX "set_cache_size");
    calls.flush_cache = take(handle, PREFIX "flush_cache");
    calls.init_remote = take(handle, PREFIX "init_remote");
    calls.step = take(handle, PREFIX "step");
    calls.get_reg = take(handle, PREFIX "get_reg");
    calls.search_unwind_table = take(handle, PREFIX "dwarf_search_unwind_table");
    if (failure == NULL) __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
}

const char *clu_loader_load(void) {
    pthread_once(&once, load);
    return failure;
}

const char *clu_loader_library(void) { return LIBRARY; }

const libunwind_calls *clu_libunwind(void) { return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE) ? &calls : NULL; }
