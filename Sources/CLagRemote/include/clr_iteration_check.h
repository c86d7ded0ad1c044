// Checks whether a running thread of another process passes its event wait. Samples from outside cannot show that, because a thread that
// finds events at once is never seen in the wait. Between system calls the thread runs at full speed; at each call it is stopped for
// some µs (ptrace(2), PTRACE_SYSCALL), until it enters its wait or has made a number of other calls.
//
// A check is a separate thread, and ends when that thread exits: then the kernel itself releases the target, without another
// stop. The same happens when this process is killed, so no thread is ever left stopped.
// The check begins with an interrupt, which may end a wait that is not restarted (wait_restart.h): check only running threads.
#pragma once

#include <stdint.h>
#include <sys/types.h>

typedef struct clr_iteration_check clr_iteration_check;

enum {
    CLR_ITERATION_UNSEEN = 0,     // it did not enter its wait in this time
    CLR_ITERATION_SEEN = 1,       // it entered the loop's wait
    CLR_ITERATION_EXHAUSTED = 2,  // it makes so many system calls that it was released
    CLR_ITERATION_REFUSED = 3,    // it was not traced: another tracer has it, no permission, or the check had no processor
};

// Begins a check; NULL if no thread can be created. `pid`: the process of the thread. `call`: the system call that the loop rests in; -1: any
// wait for events. `sp`: the stack pointer of that call. Takes some 50 µs.
clr_iteration_check *clr_iteration_check_begin(pid_t pid, pid_t tid, int64_t call, uint64_t sp);
// Ends and frees it. `*seen_ns`: when the thread entered its wait (CLOCK_MONOTONIC). Takes some 50 µs.
int clr_iteration_check_end(clr_iteration_check *check, uint64_t *seen_ns);
