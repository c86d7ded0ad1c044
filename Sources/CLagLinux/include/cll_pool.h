// The threads of Swift's concurrency pool. No lock, no allocation; files of `/proc/self/task` only.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"

enum { CLL_POOL_THREADS_MAX = 1024 };

// The threads of this process with that name, at most `capacity` of the first CLL_POOL_THREADS_MAX: libdispatch names
// its workers after the root queue that they serve, cut to its last 15 characters. Some 6 µs per thread of the process.
// (A new thread has its creator's name until it first runs.)
size_t cll_pool_threads(const cll_name *name, pid_t *tids, size_t capacity);

// Whether a thread of this process has that name. Some 6 µs.
int cll_pool_has_thread(const cll_name *name, pid_t tid);

// The start of the function that runs a job of a task (`swift_job_run` of Swift's runtime); 0: the program has none.
uint64_t cll_pool_job_function(void);

// libdispatch's main queue, for cll_queue_owner; NULL if the program has none.
const void *cll_pool_main_queue(void);
