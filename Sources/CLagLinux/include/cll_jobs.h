// Which job a thread of a pool runs, read from outside: from the words in which Swift's runtime and libdispatch store
// it for the thread itself.
//
// Both are in the thread's static thread-local storage, at the same distance from every thread's descriptor
// (pthread_t). This distance, and the offset of a task's number, are learned from a queue and from tasks created for
// this: no layout is assumed, and what cannot be learned is not used. The thread notices nothing: one
// process_vm_readv(2), which cannot fault.
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct cll_job_slots {
    int64_t task;     // of the word with the current task, from the thread's descriptor; 0: not known
    int64_t queue;    // the same for the current dispatch queue: the root queue's while the thread looks for work; 0: not known
    int32_t task_id;  // offset in a task of the 32 bits of its number; negative: not known
    int32_t label;    // offset in a queue of the address of its label; 0: not known
} cll_job_slots;

enum { CLL_JOB_PLACES = 8 };

// What several tasks have in common.
typedef struct cll_job_learner {
    int64_t places[CLL_JOB_PLACES];  // words that contained the task each time, and not afterwards
    uint32_t place_count;
    uint32_t numbers;                // bit n: the task's 32-bit word n was its number each time
    uint64_t task;                   // the last one
    uint32_t tasks;
} cll_job_learner;

// Call within a task created for this, and on the same thread when that has ended; for several tasks, one after the
// other. dl_iterate_phdr(3) takes the loader's lock: call it when a watch begins, never on the watchdog's thread.
void cll_job_learner_in_task(cll_job_learner *learner);
void cll_job_learner_after_task(cll_job_learner *learner);
// Whether exactly one place and one number are left; then they are in `slots`.
int cll_job_learner_finish(const cll_job_learner *learner, cll_job_slots *slots);

// Learns the queue's place, and that of its label. Allocates, and calls libdispatch. Returns whether both are known.
int cll_job_learn_queue(cll_job_slots *slots);

typedef struct cll_job_thread {
    uint64_t descriptor;  // pthread_t
    pid_t tid;
} cll_job_thread;

typedef struct cll_job {
    uint64_t task;   // a number that is unique among the last four billion tasks; 0: it runs none
    uint64_t queue;  // 0: it waits for work, or serves no queue
} cll_job;

// 0, or ESRCH: the thread is gone, even if its memory or its number is reused now. Some 0.7 µs; no lock, no
// allocation.
int cll_job_read(const cll_job_slots *slots, const cll_job_thread *thread, cll_job *job);

// Whether that is the queue of libdispatch's manager, whose thread waits for events and timers and serves it all the
// time. 1 µs.
int cll_job_is_manager(const cll_job_slots *slots, uint64_t queue);

// A counter of the jobs that the thread begins, by a breakpoint of the processor at the function that runs a job (for
// its cost and the other calls see cll_breakpoint.h): a descriptor that counts already, or a negative errno. Not if
// there is a seccomp filter: many kill the process for the call.
int cll_job_counter_open(pid_t tid, uint64_t function);

// CPU time of all threads of the process except the calling one, within bounds. If the lower bound of the second of
// two readings is not above the upper bound of the first, they may be the same time: no other thread has run in
// between, except for what the kernel has not counted yet. For a running thread the kernel knows the time as of its
// last tick (10 ms at most). Some 1 µs, and 20 ns per thread.
typedef struct cll_cpu_bounds {
    uint64_t at_least_ns, at_most_ns;
} cll_cpu_bounds;
cll_cpu_bounds cll_cpu_of_others(void);

// The process's number of threads; 0: not known. Some 1 µs.
uint64_t cll_thread_count(void);
