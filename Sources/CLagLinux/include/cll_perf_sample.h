// Capturing a running thread's registers and stack without its participation: one sample of perf_event_open(2).
//
// For a thread of this process that no signal reaches, and for any thread of another process. The kernel copies both
// in the interrupt of a timer that runs while the thread does. The thread executes none of our code, and none of its
// system calls returns EINTR. The copying takes it some 40 µs, a signal some 10, so in this process a signal is
// preferred. Until the sample is taken, the timer runs every 50 µs of the thread's time, in the kernel too.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_snapshot.h"

// Where a sample found the thread.
enum {
    CLL_PERF_OWN_CODE = 0,
    // In a system call, a page fault or an interrupt. Registers and stack are those of the thread's own code.
    CLL_PERF_KERNEL = 1,
    // In its own code. This process may not sample it in the kernel, so this does not show how much of its time it is
    // there.
    CLL_PERF_OWN_CODE_ALONE = 2,
};

// Waits until the thread has run for a moment, at most `limit_ns`: also in the kernel if this process may sample that
// (kernel.perf_event_paranoid below 2, or CAP_PERFMON), otherwise in its own code. Before that the kernel creates the
// event, which takes some milliseconds if it is the first one of the machine. `stack_low` and `stack_high` bound the
// thread's stack (0: not known). Returns 0, and in `where` one of the above, or an errno: EACCES or EPERM if this
// process may not sample it (kernel.perf_event_paranoid above 2; any seccomp filter, because many kill the process
// for the call), ETIMEDOUT if the thread did not run. Maps 132 KB for the duration of the call; no malloc.
int cll_perf_sample(pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot, uint64_t limit_ns, int *where);

// Whether this thread has a seccomp filter: then perf_event_open is not called. Reads a file of /proc.
int cll_perf_is_filtered(void);
