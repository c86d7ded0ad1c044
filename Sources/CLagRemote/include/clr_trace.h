// Captures the registers and the stack of a running thread of another process: ptrace(2), with PTRACE_SEIZE and PTRACE_INTERRUPT.
//
// A tracer is a separate thread, because only the thread that seized another may release it, and because it may have to wait for
// a target that gets no processor, which must not block the requester. The target is released as soon as it is copied, or when it finally stops, even
// if the answer is no longer wanted; and the kernel itself releases it when the tracer's thread or process exits for any reason.
// An interrupt ends a wait in progress; the kernel or this code restarts most waits (wait_restart.h), but the others return EINTR:
// capture only threads that do not wait.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_signal.h"
#include "cll_snapshot.h"

typedef struct clr_tracer clr_tracer;

// How often this process has stopped the thread, at least: it begins again at 0 when another one, whose number is equal modulo 4096, is stopped. So a later
// value is never greater than an earlier one by more than the stops in between. The kernel counts a stop of a running thread as one sleep, and one of a
// sleeping thread as two, because that then goes to sleep again. Any thread.
uint64_t clr_stops(pid_t tid);

// Called by the tracer's thread while the target is stopped: its time counts towards the stop.
typedef void (*clr_tracer_hook)(void *context, pid_t tid, const cll_snapshot *snapshot);
// The same, before the stack is copied: returns the end of the stack for the registers of `snapshot`; 0: the requester's value. If the end of a stack is not
// known, a large part is copied, which may belong to another stack.
typedef uint64_t (*clr_tracer_stack_end)(void *context, pid_t tid, const cll_snapshot *snapshot);

// Starts the thread, with all signals blocked. NULL if no thread can be created.
clr_tracer *clr_tracer_create(void);
// Makes it call these in each stop; call it once, before the first request. `release` is called with the context when it is no longer needed. Each may be NULL.
void clr_tracer_set_hook(
    clr_tracer *tracer, clr_tracer_stack_end stack_end, clr_tracer_hook hook, void (*release)(void *context), void *context
);
// How long the target of the last answered request was stopped; 0 if it did not stop.
uint64_t clr_tracer_stop_ns(const clr_tracer *tracer);
// Ends it. A tracer that waits for a target stays until that stops, and then frees itself; it no longer writes into any snapshot.
void clr_tracer_destroy(clr_tracer *tracer);

// Whether the kernel permits this process to trace that one: tried, without stopping it. 1 also if another tracer has it at present, which
// the actual request will find out.
int clr_tracer_may_seize(pid_t pid);

// Like cll_signal_capture, with the same results. One requesting thread at a time.
int clr_tracer_capture(clr_tracer *tracer, pid_t pid, pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot,
                       uint64_t deadline_ns);
int clr_tracer_has_answer(clr_tracer *tracer);
int clr_tracer_withdraw(clr_tracer *tracer);
