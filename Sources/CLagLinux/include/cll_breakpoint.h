// How often a thread, also of another process, executes an instruction: counted by a breakpoint of the processor.
//
// perf_event_open(2), PERF_TYPE_BREAKPOINT: the thread is neither stopped nor signalled, and its memory is not
// changed. It costs the thread about a µs for each execution while the counter counts, and 0.5 µs at each switch
// while it is open. If there is a ring for stamps (clr_switches_take), the counter leaves a stamp each time, with the
// registers that distinguish the loop's wait from a handler's wait by the same function. The count includes both. The
// counter is a descriptor of this process: however the process ends, the breakpoint is removed with it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// Opens a counter for the instruction at `address`, not counting yet: a descriptor, or a negative errno: EACCES or
// EPERM if perf events are not permitted (kernel.perf_event_paranoid, a container's filter), ENOSPC if all of the
// processor's breakpoints are in use, and others if the processor has none.
int cll_breakpoint_open(pid_t tid, uint64_t address);
// Starts or stops counting. Some µs.
void cll_breakpoint_set(int counter, int counts);
// The count so far.
uint64_t cll_breakpoint_count(int counter);
