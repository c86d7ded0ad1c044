// The stop of a thread that this one has seized and interrupted: waited for, and since when it lasts.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct clr_trap {
    siginfo_t stop;       // why it stands still
    uint64_t running_ns;  // when it was last found running (clb_now_ns)
    uint64_t woken_ns;    // when this thread was awake that the stop has woken; 0: it did not
    int64_t delay_ns;     // how long this thread had waited for a processor in all, before it slept; -1: not known
} clr_trap;

// Waits until the thread `tid` of `pid` stands still, for as long as it takes. 0, or an errno: ESRCH where it has ended.
int clr_await_trap(pid_t pid, pid_t tid, clr_trap *trap);

// Since when it stands still; where the stop has woken this thread, less the kernel's way to it, some 10 us. Takes as long: for when it runs again.
uint64_t clr_trap_since(const clr_trap *trap);
