// Capturing a running thread's registers and stack by a signal.
//
// One request at a time for the whole process (the watchdog's). The handler copies registers and stack into existing
// memory and returns; it neither unwinds nor waits. A signal that is not an answer to one of our requests is passed
// to the previous handler, or gets the default action.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_snapshot.h"

// Installs the handler for each of our signals that has no other handler. Returns how many were installed (0: none
// was free).
int cll_signal_install(void);
// Restores the dispositions that are still ours, and discards a request that is still pending somewhere.
void cll_signal_remove(void);

// One of our signals that `blocked` (SigBlk) permits and whose handler is still ours; 0 if there is none.
int cll_signal_choose(uint64_t blocked);

// Whether a thread that blocks these signals (SigBlk), in a process that has handlers for those (SigCgt), may be in
// one of the handlers: a handler blocks its own signal.
int cll_signal_may_be_in_handler(uint64_t blocked, uint64_t caught);

enum {
    CLL_SIGNAL_TAKEN = 0,
    CLL_SIGNAL_TIMED_OUT = 1,   // no answer in time; the request has been ended
    CLL_SIGNAL_NO_THREAD = 2,   // the thread is gone
    CLL_SIGNAL_BUSY = 3,        // an earlier request is still being answered
    CLL_SIGNAL_REFUSED = 4,     // the kernel would not send it
    CLL_SIGNAL_PENDING = 5,        // no answer yet; the request is still open
};

// Sends the request and waits for the answer, at most until `deadline_ns` (CLOCK_MONOTONIC). `snapshot->stack` and
// `capacity` come from the caller; `stack_low`/`stack_high` bound the thread's own stack (0 if unknown).
int cll_signal_capture(pid_t tid, int signal, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot, uint64_t deadline_ns);

// A thread that gets no processor answers when it next runs, before it continues with its own code: so the answer
// shows what it was doing at the time of the request, however late it comes. Returns whether it has arrived in the
// request's snapshot.
int cll_signal_has_answer(void);
// Ends the request: TAKEN if the answer has arrived, or is arriving, after all.
int cll_signal_withdraw(void);
// The same, if the request is for this snapshot: before its memory is freed.
int cll_signal_forget(const cll_snapshot *snapshot);

// Whether a handler that was descheduled while copying may still write into this snapshot: then its memory must not
// be freed.
int cll_signal_is_writing(const cll_snapshot *snapshot);

// Bytes of stack that the kernel and the handler need to deliver a signal.
uint64_t cll_signal_stack_need(void);
