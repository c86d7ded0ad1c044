// Waits for the stop of a thread that this thread has seized and interrupted, and finds when it began.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct clr_trap {
    siginfo_t stop;       // why it is stopped
    uint64_t running_ns;  // when it was last found running (clb_now_ns)
    uint64_t woken_ns;    // when this thread was awake after the stop woke it; 0: the stop did not wake it
    int64_t delay_ns;     // how long this thread had waited for a processor in total, before it slept; -1: not known
} clr_trap;

// Waits until the thread `tid` of `pid` is stopped, without a time limit. 0, or an errno: ESRCH if it has exited.
int clr_await_trap(pid_t pid, pid_t tid, clr_trap *trap);

// Counts a stop of the thread, for `clr_stops`: it is stopped now.
void clr_count_stop(pid_t tid);

// When the stop began; if the stop woke this thread, corrected by the kernel's wake-up time, some 10 us. Takes as long: call it when the target runs again.
uint64_t clr_trap_since(const clr_trap *trap);
