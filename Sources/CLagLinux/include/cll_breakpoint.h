// How often a thread, also of another process, came by an instruction: counted by a breakpoint of the processor.
//
// perf_event_open(2), PERF_TYPE_BREAKPOINT: the thread is neither stopped nor signalled, and nothing of its memory is changed. It
// costs the thread about a µs each time it comes by while the counter counts, and 0.5 µs at each switch while it is open. Where it has a ring
// for them (clr_switches_take) the counter leaves a stamp each time, with the registers that distinguish the loop's wait from a handler's by the same
// function. The count has both. The counter is a descriptor of this process: however it ends, the breakpoint is gone with it.
#pragma once

#include <stdint.h>
#include <sys/types.h>

// A counter for the instruction at `address`, not counting yet: a descriptor, or a negative errno: EACCES or EPERM where perf events are not allowed
// (kernel.perf_event_paranoid, a container's filter), ENOSPC where others have all of the processor's breakpoints, and others where the processor has none.
int cll_breakpoint_open(pid_t tid, uint64_t address);
// Counts from now on, or not any more. Some µs.
void cll_breakpoint_set(int counter, int counts);
// How often so far.
uint64_t cll_breakpoint_count(int counter);
