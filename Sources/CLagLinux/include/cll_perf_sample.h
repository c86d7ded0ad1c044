// Taking a running thread's registers and stack without asking it: one sample of perf_event_open(2).
//
// For a thread of this process that no signal reaches, and for any of another process. The kernel copies both in the interrupt of a timer that
// runs while the thread does; the thread executes nothing of ours, and no system call of it returns EINTR. That copying takes it some 40 µs, a
// signal some 10, so in this process a signal comes first. Until it is taken the timer runs every 50 µs of the thread's time, in the kernel too.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_snapshot.h"

// Where a sample found the thread.
enum {
    CLL_PERF_OWN_CODE = 0,
    // In a system call, a page fault or an interrupt. Registers and stack are those of the thread's own code.
    CLL_PERF_KERNEL = 1,
    // In its own code; in the kernel this process may not sample it, so this says nothing of how much of its time it is there.
    CLL_PERF_OWN_CODE_ALONE = 2,
};

// Waits until the thread has run for a moment, at most `limit_ns`: also in the kernel where this process may sample that (kernel.perf_event_paranoid
// below 2, or CAP_PERFMON), otherwise in its own code. Before that the kernel makes the event,
// which takes some milliseconds when it is the first one of the machine. `stack_low` and `stack_high` bound the thread's stack (0: not known).
// Returns 0, and in `where` one of the above, or an errno: EACCES or EPERM where this process may not sample it (kernel.perf_event_paranoid above 2; any seccomp filter,
// because many end the process for the call), ETIMEDOUT where the thread did not run. Maps 132 KB for the time of the call; no malloc.
int cll_perf_sample(pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot, uint64_t limit_ns, int *where);

// Whether a seccomp filter is on this thread: then perf_event_open is not called. Reads a file of /proc.
int cll_perf_is_filtered(void);
