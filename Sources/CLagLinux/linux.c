#define _GNU_SOURCE
#include "cll_linux.h"

#include "clb_mirror.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_t main_pthread;

__attribute__((constructor)) static void remember_main_thread(void) {
    if (syscall(SYS_gettid) == getpid()) main_pthread = pthread_self();
}

pthread_t cll_main_pthread(void) { return main_pthread; }

long cll_find(const void *text, size_t size, const void *needle, size_t needle_size) {
    const void *found = memmem(text, size, needle, needle_size);
    return found ? (const char *)found - (const char *)text : -1;
}

pid_t cll_gettid(void) { return (pid_t)syscall(SYS_gettid); }

int cll_tgkill(pid_t pid, pid_t tid, int signal) { return (int)syscall(SYS_tgkill, pid, tid, signal); }

int cll_die_with_parent(int signal) { return prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0) == 0 ? 0 : errno; }

int cll_thread_name(pthread_t thread, char *buffer, size_t size) { return pthread_getname_np(thread, buffer, size); }

int cll_thread_set_name(pthread_t thread, const char *name) { return pthread_setname_np(thread, name); }

int cll_thread_stack(pthread_t thread, uint64_t *low, uint64_t *high) {
    pthread_attr_t attributes;
    int error = pthread_getattr_np(thread, &attributes);
    if (error != 0) return error;
    void *address = NULL;
    size_t size = 0;
    error = pthread_attr_getstack(&attributes, &address, &size);
    pthread_attr_destroy(&attributes);
    if (error != 0) return error;
    *low = (uint64_t)(uintptr_t)address;
    *high = (uint64_t)(uintptr_t)address + size;
    return 0;
}

// Weak: a program that does not link libdispatch has no main queue to drain.
extern int _dispatch_get_main_queue_handle_4CF(void) __attribute__((weak));
extern void _dispatch_main_queue_callback_4CF(void *message) __attribute__((weak));

int cll_dispatch_main_queue_fd(void) {
    return _dispatch_get_main_queue_handle_4CF ? _dispatch_get_main_queue_handle_4CF() : -1;
}

void cll_dispatch_main_queue_drain(void) {
    if (_dispatch_main_queue_callback_4CF) _dispatch_main_queue_callback_4CF(NULL);
}

const char *cll_environment_entry(int index) { return environ == NULL ? NULL : environ[index]; }

// Here, because the preloaded library links CLagBeacon and must not have this.
__attribute__((constructor)) static void cll_record_loop_table_path(void) {
    clb_mirror_record_path(secure_getenv(CLB_LOOP_TABLE_VARIABLE));
}
