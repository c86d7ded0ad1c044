#define _GNU_SOURCE
#include "cll_pool.h"
#include "cll_procfs_text.h"

#include <string.h>
#include <unistd.h>

// Weak: missing in a program that runs no task, or drains no queue.
extern void swift_job_run(void) __attribute__((weak));
extern char _dispatch_main_q __attribute__((weak));

typedef struct cll_pool_search {
    const cll_name *name;
    pid_t *tids;
    size_t capacity, found;
} cll_pool_search;

int cll_pool_has_thread(const cll_name *name, pid_t tid) {
    cll_name present;
    cll_procfs_name(getpid(), tid, &present);
    return strncmp(present.text, name->text, sizeof present.text) == 0;
}

static int cll_pool_visit(unsigned tid, void *context) {
    cll_pool_search *search = context;
    if (search->found == search->capacity) return 1;
    if (cll_pool_has_thread(search->name, (pid_t)tid)) search->tids[search->found++] = (pid_t)tid;
    return 0;
}

size_t cll_pool_threads(const cll_name *name, pid_t *tids, size_t capacity) {
    cll_pool_search search = {.name = name, .tids = tids, .capacity = capacity};
    cll_procfs_each(getpid(), "task", CLL_POOL_THREADS_MAX, cll_pool_visit, &search);
    return search.found;
}

uint64_t cll_pool_job_function(void) { return (uint64_t)(uintptr_t)&swift_job_run; }

const void *cll_pool_main_queue(void) { return &_dispatch_main_q; }
