// Taking the registers and the stack of a running thread of another process: ptrace(2), by PTRACE_SEIZE and PTRACE_INTERRUPT.
//
// A tracer is a thread of its own, because only the thread that seized another may let it go, and because it may have to wait for
// one that gets no processor: whoever asks does not. The target is let go as soon as it is copied, or when it stops at last, whether
// or not the answer is still wanted; and the kernel itself lets it go when the tracer's thread or process ends, however it ends.
// An interrupt cuts a wait short that a thread is in; the kernel or this makes most of them again (wait_restart.h), and the others return EINTR:
// only threads that do not wait are to be asked.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_signal.h"
#include "cll_snapshot.h"

typedef struct clr_tracer clr_tracer;

// Called by the tracer's thread while the target stands still: what it copies counts towards the stop.
typedef void (*clr_tracer_hook)(void *context, pid_t tid, const cll_snapshot *snapshot);
// The same, before the stack is copied: where that ends, by the registers of `snapshot`; 0: what the asker says. Of a stack whose end is not known much
// is copied, which may be another's.
typedef uint64_t (*clr_tracer_stack_end)(void *context, pid_t tid, const cll_snapshot *snapshot);

// Starts the thread, with all signals blocked. NULL when no thread can be made.
clr_tracer *clr_tracer_create(void);
// Has it call these in each stop; once, before the first request. `release` is called with the context when it is not needed any more. Each may be NULL.
void clr_tracer_set_hook(
    clr_tracer *tracer, clr_tracer_stack_end stack_end, clr_tracer_hook hook, void (*release)(void *context), void *context
);
// How long the target of the last request that was answered stood still; 0 when it did not stop.
uint64_t clr_tracer_stop_ns(const clr_tracer *tracer);
// Ends it. One that waits for a target stays until that stops, and frees itself then; it writes into no snapshot any more.
void clr_tracer_destroy(clr_tracer *tracer);

// Whether the kernel lets this process hold that one: tried, without stopping it. 1 also where another tracer has it at present, which
// the asking at hand will find out.
int clr_tracer_may_seize(pid_t pid);

// As cll_signal_capture, with its answers. One thread at a time asks.
int clr_tracer_capture(clr_tracer *tracer, pid_t pid, pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot,
                       uint64_t deadline_ns);
int clr_tracer_has_answer(clr_tracer *tracer);
int clr_tracer_withdraw(clr_tracer *tracer);
