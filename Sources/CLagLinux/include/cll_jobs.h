// Which job a thread of a pool runs, read from outside: from the words in which Swift's runtime and libdispatch keep it for the thread itself.
//
// Both lie in the thread's static thread-local storage, at the same distance from every thread's descriptor (pthread_t). Where that is, and where in
// a task its number is, is learned from a queue and from tasks of our own: no layout is assumed, and what cannot be learned is not used.
// Nothing here is noticed by the thread: one process_vm_readv(2), which cannot fault.
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct cll_job_slots {
    int64_t task;     // of the word with the current task, from the thread's descriptor; 0: not known
    int64_t queue;    // the same for the current dispatch queue: the root queue's while the thread looks for work; 0: not known
    int32_t task_id;  // where in a task the 32 bits of its number are; negative: not known
    int32_t label;    // where in a queue the address of its label is; 0: not known
} cll_job_slots;

enum { CLL_JOB_PLACES = 8 };

// What several tasks have in common.
typedef struct cll_job_learner {
    int64_t places[CLL_JOB_PLACES];  // words that held the task each time, and not afterwards
    uint32_t place_count;
    uint32_t numbers;                // bit n: the task's 32-bit word n was its number each time
    uint64_t task;                   // the last one
    uint32_t tasks;
} cll_job_learner;

// Within a task of our own, and on the same thread when that has ended; for several tasks, one after the other. dl_iterate_phdr(3) takes the
// loader's lock: when a watch begins, and never on the watchdog's thread.
void cll_job_learner_in_task(cll_job_learner *learner);
void cll_job_learner_after_task(cll_job_learner *learner);
// Whether exactly one place and one number are left; then they are in `slots`.
int cll_job_learner_finish(const cll_job_learner *learner, cll_job_slots *slots);

// Learns the queue's place, and that of its label. Allocates, and calls libdispatch. Whether both are known.
int cll_job_learn_queue(cll_job_slots *slots);

typedef struct cll_job_thread {
    uint64_t descriptor;  // pthread_t
    pid_t tid;
} cll_job_thread;

typedef struct cll_job {
    uint64_t task;   // a number that no other task of the last four billion has; 0: it runs none
    uint64_t queue;  // 0: it waits for work, or serves no queue
} cll_job;

// 0, or ESRCH: the thread is gone, whoever has its memory or its number now. Some 0.7 µs; no lock, no allocation.
int cll_job_read(const cll_job_slots *slots, const cll_job_thread *thread, cll_job *job);

// Whether that is the queue of libdispatch's manager, whose thread waits for events and timers and serves it all the time. 1 µs.
int cll_job_is_manager(const cll_job_slots *slots, uint64_t queue);

// A counter of the jobs that the thread begins, by a breakpoint of the processor at the function that runs a job (cll_breakpoint.h has the cost and
// the rest of the calls): a descriptor that counts already, or a negative errno. Not where a seccomp filter is: many end the process for the call.
int cll_job_counter_open(pid_t tid, uint64_t function);

// CPU time of all threads of the process but the calling one, within bounds: two readings of which the second's lower bound is not above the
// first's upper bound are the same time, so that no other thread has run in between, but for what the kernel has not counted yet: of a thread that
// runs it knows the time as of its last tick (10 ms at most). Some 1 µs, and 20 ns a thread.
typedef struct cll_cpu_bounds {
    uint64_t at_least_ns, at_most_ns;
} cll_cpu_bounds;
cll_cpu_bounds cll_cpu_of_others(void);

// How many threads the process has; 0: not known. Some 1 µs.
uint64_t cll_thread_count(void);
