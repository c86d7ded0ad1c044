// What one thread's waits say about its loop. Used by the wrapped calls; no symbol of this is visible outside the library.
#ifndef LAG_PRELOAD_LOOP_H
#define LAG_PRELOAD_LOOP_H

// Before the pragma: what the C library declares is not hidden.
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "clb_beacon.h"
#include "clb_loop_table.h"
#include "hot.h"

#pragma GCC visibility push(hidden)

enum {
    LOOP_WAITS = 8,           // in a row at one place: a loop
    LOOP_OTHER_WAITS = 32,    // at another place, and the loop's own not seen for
    LOOP_GONE_SECONDS = 5,    // this long: the other place is the loop now
    LOOP_RETRY_WAITS = 1024,  // after a claim that found no free slot
    LOOP_FUNCTION_BYTES = 4096,
};

// Where a wait is called: return address, and the stack pointer after the return.
typedef struct loop_place {
    uint64_t address;
    uint64_t sp;
} loop_place;

typedef struct loop_thread {
    uint32_t process;     // which process this belongs to; another number: left by the parent of a fork
    int32_t other_waits;  // how many in a row at `other`
    loop_place place;     // of the loop; sp is 0 until there is one
    clb_beacon *beacon;   // in the table; NULL until there is a loop
    clb_ticker ticker;
    loop_place other;
    loop_place outer;     // of the loop within which the present one runs; sp is 0: none
    uint64_t claim;
    uint32_t index;
    uint32_t is_over;     // the thread's destructors run
} loop_thread;

// initial-exec: one instruction to reach. A preloaded library is there when the static block is made.
extern __thread loop_thread loop_self __attribute__((tls_model("initial-exec")));

static inline int loop_is_at(const loop_place *place, uint64_t address, uint64_t sp) {
    return place->sp == sp && address - place->address + LOOP_FUNCTION_BYTES < 2 * LOOP_FUNCTION_BYTES;
}

static inline int loop_is_same_process(const loop_thread *thread) { return thread->process == hot_process(); }

// A wait that is not at the loop's place: the thread when it is a rest all the same, otherwise NULL.
loop_thread *loop_consider(loop_thread *thread, uint64_t address, uint64_t sp, int may_last);

// A wait begins. What it returns goes to loop_leave.
static inline loop_thread *loop_enter(uint64_t address, uint64_t sp, int may_last) {
    loop_thread *thread = &loop_self;
    if (__builtin_expect(!loop_is_same_process(thread) || !loop_is_at(&thread->place, address, sp), 0)) {
        return loop_consider(thread, address, sp, may_last);
    }
    thread->other_waits = 0;
    clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return thread;
}

extern clb_loop_table *loop_table;

// The wait is over. A signal handler may have forked meanwhile, and this may be the child.
static inline void loop_leave(loop_thread *thread) {
    if (__builtin_expect(thread == NULL, 0)) return;
    if (__builtin_expect(!loop_is_same_process(thread), 0)) return;
    clb_beacon_wake_shared(thread->beacon, CLB_ACTIVITY_AFTER_WAITING, clb_ticker_now_ns(&thread->ticker, loop_table));
}

#pragma GCC visibility pop

#endif
