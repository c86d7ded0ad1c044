#define _GNU_SOURCE
#include "clu_loader.h"
#include "libunwind_calls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

// libunwind initialises itself once, and for checking addresses of *local* unwinding, which we never do, opens a pipe
// that it never closes. Nothing of ours may be left in the host's table of descriptors, and closing by number would be
// a guess in a process with other threads. So the first use happens on a thread that has a table of its own
// (unshare(2); needs no privilege), and the pipe ends with that thread. Where that is forbidden, the pipe stays.
static void *initialise(void *unused) {
    unshare(CLONE_FILES);
    unw_accessors_t accessors;
    memset(&accessors, 0, sizeof(accessors));
    unw_addr_space_t space = calls.create_addr_space(&accessors, 0);
    if (space != NULL) {
        calls.set_caching_policy(space, UNW_CACHE_NONE);
        calls.destroy_addr_space(space);
    }
    return NULL;
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
    if (failure != NULL) return;
    // The new thread inherits the mask: the host's signals are not for it.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    // Without a thread the first real use initialises it.
    if (pthread_create(&thread, NULL, initialise, NULL) == 0) pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
}

const char *clu_loader_load(void) {
    pthread_once(&once, load);
    return failure;
}

const char *clu_loader_library(void) { return LIBRARY; }

const libunwind_calls *clu_libunwind(void) { return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE) ? &calls : NULL; }
