// The Swift task that a thread runs, read from outside: its number, priority and name, the value of our task-local,
// and the contexts of its async functions.
//
// The places in a task are learned at start from tasks created for this, which know their own values (cll_jobs.h has
// the place of the task itself), and checked by reading one of them from outside. No layout is assumed except the
// forms of the four lists, and these only in known versions of the runtime's layout
// (`_swift_concurrency_debug_internal_layout_version`). What is not learned is not read. Every read is bounded and
// cannot fault, and the thread does not notice it.
#ifndef CLL_TASK_H
#define CLL_TASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cll_jobs.h"

enum {
    CLL_TASK_WORDS = 24,       // of a task, to be searched; these precede what differs from task to task
    CLL_TASK_NAME_BYTES = 64,
    CLL_TASK_AWAITERS = 3,
    CLL_TASK_RECORDS = 16,     // status records that are followed to find the name
    CLL_TASK_LOCALS = 64,      // bound task-locals that are followed to find ours
    CLL_TASK_NESTED = 16,      // nested bindings of ours
    CLL_TASK_CONTEXTS = 96,    // blocks of a task's memory that are followed
    CLL_TASK_ATTEMPTS = 3,     // how often a running thread's task is read until two readings are the same
};

// Offsets in bytes; negative: not known.
typedef struct cll_task_layout {
    cll_job_slots slots;
    int64_t running;       // of the thread's own clb_context_running, from its descriptor; 0: not known
    uint64_t key;          // of our task-local
    int32_t priority;      // of the byte with the priority, in a task
    int32_t name;          // of the word that leads to the name
    int32_t name_kind;     // of the status record with the name: its first byte; negative: the word is the name's address
    int32_t local;         // of the word with the first bound task-local
    int32_t block;         // of the word with the newest block of its memory
    int32_t block_header;  // bytes of a block before the allocated memory
} cll_task_layout;

// What tasks created for learning have in common, as bits: one for each word (byte) of a task.
typedef struct cll_task_learner {
    uint32_t priorities[4];  // of 128 bytes
    uint32_t names, records, locals;
    uint32_t blocks[3];      // for headers of 8, 16 and 32 bytes
    int32_t name_kind;
    uint32_t tasks;
} cll_task_learner;

// What the learning task knows about itself.
typedef struct cll_task_truth {
    const char *name;
    uint64_t key, value;  // of the task-local
    uint8_t priority;
} cll_task_truth;

// The calling thread's present task; NULL: none. Some ns.
const void *cll_task_current(void);

// Whether the runtime's layout is a known one.
int cll_task_layout_is_known(void);
// Call within a task created for this; for several with different truths, one after the other.
void cll_task_learner_in_task(cll_task_learner *learner, const cll_task_truth *truth);
void cll_task_learner_finish(const cll_task_learner *learner, cll_task_layout *layout);

// What was read of a thread's present task.
typedef struct cll_task {
    uint64_t address;         // 0: the thread runs no task
    uint64_t local;           // the task-local's value; 0: not bound
    uint64_t running_token, running_task;  // the thread's clb_context_running
    uint64_t block;           // the newest block of its memory; 0: not known
    uint32_t number;
    uint8_t priority;
    uint8_t has_priority, has_locals;      // whether these are known
    uint8_t name_length;
    char name[CLL_TASK_NAME_BYTES];
    // The names of the chain of tasks that wait for it, each for the one before, as far as they are known: only for
    // other languages' tasks.
    uint8_t awaiter_lengths[CLL_TASK_AWAITERS];
    char awaiters[CLL_TASK_AWAITERS][CLL_TASK_NAME_BYTES];
} cll_task;

// 0; ESRCH: the thread is gone; EAGAIN: it kept changing; ENOTSUP: it is not known where a thread stores its task.
// Some 3 us; no lock, no allocation.
int cll_task_read(const cll_task_layout *layout, const cll_job_thread *thread, cll_task *task);

// The task-local's values in the task and around it, including the tasks that created it: the innermost first, up to
// the given number. Returns their number; 0 also if the task has continued.
size_t cll_task_locals(const cll_task_layout *layout, const cll_task *task, uint64_t *values, size_t capacity);

// The addresses of a task's blocks of memory, the newest first, up to the given number; each may be the context of an
// async function. Returns their number.
size_t cll_task_blocks(const cll_task_layout *layout, const cll_task *task, uint64_t *addresses, size_t capacity);

#endif
