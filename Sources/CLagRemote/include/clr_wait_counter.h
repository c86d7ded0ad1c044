// How often a thread of another process came by its wait: counted by a breakpoint of the processor at the wait's system call (on AArch64 at the
// instruction before it). What that costs, and what becomes of it: cll_breakpoint.h.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// A counter for the system call that returns to `pc` (as in /proc/<pid>/task/<tid>/syscall), not counting yet: as cll_breakpoint_open, and
// -EOPNOTSUPP where there is no place for one.
int clr_wait_counter_open(pid_t tid, uint64_t pc);
