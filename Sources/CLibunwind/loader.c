#define _GNU_SOURCE
#include "clu_loader.h"
#include "libunwind_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LIBRARY "libunwind-x86_64.so.8"
#define PREFIX "_Ux86_64_"
#elif defined(__aarch64__)
#define LIBRARY "libunwind-aarch64.so.8"
#define PREFIX "_Uaarch64_"
#else
#error "LagMonitor supports x86-64 and aarch64"
#endif

static libunwind_calls calls;
static const char *failure;
static char failure_text[512];
static int loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *clu_find_symbol(void *handle, const char *name) {
    void *address = dlsym(handle, name);
    if (address == NULL && failure == NULL) {
        snprintf(failure_text, sizeof(failure_text), "%s has no symbol %s: libunwind 1.6 or newer is needed", LIBRARY, name);
        failure = failure_text;
    }
    return address;
}

// libunwind initialises itself once, and opens a pipe for checking addresses in *local* unwinding, which this package
// never uses. It never closes that pipe. Closing it behind libunwind's back would be worse than leaving it: if the
// host used this library for local unwinding, libunwind would read, write and close descriptors that had been reused
// by then. So the first use happens on a thread to which the kernel refuses pipes (a filter of this thread only,
// seccomp(2); it needs no privilege and ends with the thread). Then libunwind has no pipe, and creates one when it
// really needs it. If filters are forbidden, the pipe stays: two descriptors for the life of the process.
static void clu_refuse_pipes(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_pipe
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pipe, 1, 0),
#endif
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pipe2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static void *clu_initialise(void *unused) {
    clu_refuse_pipes();
    unw_accessors_t accessors;
    memset(&accessors, 0, sizeof(accessors));
    unw_addr_space_t space = calls.create_addr_space(&accessors, 0);
    if (space != NULL) {
        calls.set_caching_policy(space, UNW_CACHE_NONE);
        calls.destroy_addr_space(space);
    }
    return NULL;
}

static void clu_load(void) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == NULL) {
        const char *reason = dlerror();
        snprintf(failure_text, sizeof(failure_text), "cannot load %s (Debian package libunwind8): %s", LIBRARY,
                 reason ? reason : "no reason given");
        failure = failure_text;
        return;
    }
    calls.create_addr_space = clu_find_symbol(handle, PREFIX "create_addr_space");
    calls.destroy_addr_space = clu_find_symbol(handle, PREFIX "destroy_addr_space");
    calls.set_caching_policy = clu_find_symbol(handle, PREFIX "set_caching_policy");
    calls.flush_cache = clu_find_symbol(handle, PREFIX "flush_cache");
    calls.init_remote = clu_find_symbol(handle, PREFIX "init_remote");
    calls.step = clu_find_symbol(handle, PREFIX "step");
    calls.get_reg = clu_find_symbol(handle, PREFIX "get_reg");
    calls.search_unwind_table = clu_find_symbol(handle, PREFIX "dwarf_search_unwind_table");
    if (failure != NULL) return;
    // The new thread inherits the mask, so that it does not receive the host's signals.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    // Without a thread, the first real use initialises it.
    if (pthread_create(&thread, NULL, clu_initialise, NULL) == 0) pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    __atomic_store_n(&loaded, 1, __ATOMIC_RELEASE);
}

const char *clu_loader_load(void) {
    pthread_once(&once, clu_load);
    return failure;
}

const libunwind_calls *clu_libunwind(void) { return __atomic_load_n(&loaded, __ATOMIC_ACQUIRE) ? &calls : NULL; }
