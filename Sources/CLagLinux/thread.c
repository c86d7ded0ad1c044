#define _GNU_SOURCE
#include "cll_thread.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct start {
    void (*body)(void *);
    void *argument;
} start;

static void *cll_run(void *argument) {
    start begun = *(start *)argument;
    free(argument);
    begun.body(begun.argument);
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

static _Thread_local void *thread_loop;
static _Thread_local void (*thread_finish)(void *);
static pthread_key_t finish_key;
static pthread_once_t finish_once = PTHREAD_ONCE_INIT;

static void cll_finish_thread_loop(void *loop) {
    if (thread_finish != NULL) thread_finish(loop);
    thread_loop = NULL;
}

static void cll_make_key(void) { pthread_key_create(&finish_key, cll_finish_thread_loop); }

void *cll_thread_loop(void) { return thread_loop; }

void cll_thread_set_loop(void *loop, void (*finish)(void *)) {
    pthread_once(&finish_once, cll_make_key);
    thread_loop = loop;
    thread_finish = finish;
    if (finish != NULL) pthread_setspecific(finish_key, loop);
}

// glibc registers a robust list for every thread it makes; its head is a part of struct pthread.
uint64_t cll_thread_descriptor(pid_t tid) {
    void *own = NULL, *other = NULL;
    size_t length = 0;
    if (syscall(SYS_get_robust_list, 0, &own, &length) != 0 || !own) return 0;
    if (syscall(SYS_get_robust_list, tid, &other, &length) != 0 || !other) return 0;
    return (uint64_t)(uintptr_t)other - ((uint64_t)(uintptr_t)own - (uint64_t)pthread_self());
}
