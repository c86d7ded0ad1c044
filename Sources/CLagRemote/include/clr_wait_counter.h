// Counts how often a thread of another process passes its wait, with a hardware breakpoint at the wait's system call (on AArch64 at the
// instruction before it). Costs and lifetime: cll_breakpoint.h.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// A counter for the system call that returns to `pc` (as in /proc/<pid>/task/<tid>/syscall), not counting yet: like cll_breakpoint_open, and
// -EOPNOTSUPP if there is no suitable instruction.
int clr_wait_counter_open(pid_t tid, uint64_t pc);
