#define _GNU_SOURCE
#include "cll_thread.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"
#include "cll_waiting.h"

typedef struct start {
    void (*body)(void *);
    void *argument;
} start;

static _Thread_local void *thread_loop;
static _Thread_local void (*thread_finish)(void *);
static pthread_key_t finish_key;
static int has_key;
static pthread_once_t finish_once = PTHREAD_ONCE_INIT;

static void cll_finish_thread_loop(void *loop) {
    if (thread_finish != NULL) thread_finish(loop);
    thread_loop = NULL;
}

static void *cll_run(void *argument) {
    start begun = *(start *)argument;
    free(argument);
    begun.body(begun.argument);
    // A process has 1024 keys. If they are all in use, the threads that are created here can do without one.
    if (thread_loop != NULL && !has_key) cll_finish_thread_loop(thread_loop);
    return NULL;
}

int cll_thread_create(pthread_t *thread, size_t stack_bytes, void (*body)(void *), void *argument) {
    start *begun = malloc(sizeof(start));
    if (begun == NULL) return ENOMEM;
    *begun = (start){.body = body, .argument = argument};
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        size_t page = (size_t)sysconf(_SC_PAGESIZE);
        size_t size = (stack_bytes + page - 1) / page * page;
        size_t minimum = (size_t)sysconf(_SC_THREAD_STACK_MIN);
        error = pthread_attr_setstacksize(&attributes, size < minimum ? minimum : size);
        if (error == 0) error = pthread_create(thread, &attributes, cll_run, begun);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) free(begun);
    return error;
}

int cll_thread_set_nice(int nice_value) {
    return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), nice_value) == 0 ? 0 : errno;
}

int cll_thread_nice(void) { return getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid)); }

static void cll_make_key(void) { has_key = pthread_key_create(&finish_key, cll_finish_thread_loop) == 0; }

void *cll_thread_loop(void) { return thread_loop; }

void cll_thread_set_loop(void *loop, void (*finish)(void *)) {
    pthread_once(&finish_once, cll_make_key);
    thread_loop = loop;
    thread_finish = finish;
    if (finish != NULL && has_key) pthread_setspecific(finish_key, loop);
}

// glibc registers a robust list for every thread that it creates; its head is a part of struct pthread. 0: not known.
static uint64_t cll_robust_list(pid_t tid) {
    void *head = NULL;
    size_t length = 0;
    return syscall(SYS_get_robust_list, tid, &head, &length) == 0 ? (uint64_t)(uintptr_t)head : 0;
}

uint64_t cll_thread_descriptor(pid_t tid) {
    uint64_t own = cll_robust_list(0), other = cll_robust_list(tid);
    return own != 0 && other != 0 ? other - (own - (uint64_t)pthread_self()) : 0;
}

// struct pthread has `tid`, a padding word and `robust_prev` before the head of the list.
enum { TID_BEFORE_HEAD = 16 };

uint64_t cll_thread_tid_address(uint64_t descriptor) {
    // The same for every thread, and needed at every sample of one.
    static uint64_t distance;
    uint64_t known = __atomic_load_n(&distance, __ATOMIC_RELAXED);
    if (known == 0) {
        uint64_t own = cll_robust_list(0);
        if (own == 0) return 0;
        known = own - TID_BEFORE_HEAD - (uint64_t)pthread_self();
        __atomic_store_n(&distance, known, __ATOMIC_RELAXED);
    }
    return descriptor + known;
}

int cll_thread_has_tid_at(pid_t tid, uint64_t address) { return cll_robust_list(tid) == address + TID_BEFORE_HEAD; }

pid_t cll_thread_of_descriptor(pid_t pid, uint64_t descriptor) {
    uint64_t at = cll_thread_tid_address(descriptor);
    pid_t tid;
    if (at == 0 || cll_memory_read(pid, at, &tid, sizeof(tid)) != sizeof(tid) || tid <= 0) return 0;
    // The number comes from the process and is not trusted: it may be that of another process's thread.
    return cll_thread_has_tid_at(tid, at) && cll_thread_is_live(pid, tid) ? tid : 0;
}
