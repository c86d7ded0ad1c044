// Whether a running thread of another process passes its event wait. Samples from outside cannot show that: a thread that found
// events at once was never seen there. From one system call to the next the thread is as fast as ever; at each it is held for
// some µs (ptrace(2), PTRACE_SYSCALL), until it comes by its wait or has made a number of others.
//
// A check is a thread of its own, and ends by that thread's end: then the kernel itself lets the other go, without stopping it
// once more. The same happens when this process is killed, so no thread is ever left stopped.
// An interrupt, with which it begins, may cut a wait short that is not made again (wait_restart.h): only threads that run are to be checked.
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct clr_iteration_check clr_iteration_check;

enum {
    CLR_ITERATION_UNSEEN = 0,     // it did not come by in this time
    CLR_ITERATION_SEEN = 1,       // it entered the loop's wait
    CLR_ITERATION_EXHAUSTED = 2,  // it makes so many system calls that it was let go
    CLR_ITERATION_REFUSED = 3,    // it cannot be held: another traces it, or we may not
};

// Begins one; NULL when no thread can be made. `call`: the system call that the loop rests in; -1: any wait for events. `sp`: the
// stack pointer that it is made with. Some 50 µs.
clr_iteration_check *clr_iteration_check_begin(pid_t tid, int64_t call, uint64_t sp);
// Ends it, and frees it. `*seen_ns`: when it came by (CLOCK_MONOTONIC). Some 50 µs.
int clr_iteration_check_end(clr_iteration_check *check, uint64_t *seen_ns);
