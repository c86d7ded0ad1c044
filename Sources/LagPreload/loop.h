// What one thread's waits say about its loop. Used by the wrapped calls; no symbol of this is visible outside the library.
#pragma once

// Before the pragma: what the C library declares is not hidden.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "clb_beacon.h"
#include "clb_loop_table.h"
#include "hot.h"

// What an interpreter of Python exports: never hidden.
extern const unsigned long Py_Version __attribute__((weak));

#pragma GCC visibility push(hidden)

enum {
    LOOP_WAITS = 8,           // in a row at one place: a loop; for one descriptor only if they are not as fast as answers
    LOOP_FEW_WAITS = 2,       // of the main thread, or on an epoll instance, where the first was
    LOOP_FEW_SET_WAITS = 4,   // of another thread by poll or select (a job may wait twice or thrice for one answer), where the first was
    LOOP_FEW_MS = 500,        // so long ago: many programs make a wait or two at their start, and are at the next within milliseconds
    LOOP_PROVISIONAL_CLAIMS = 4,  // of one thread and one kind (LOOP_KIND_…) at most: a start waits for things that are no loop's
    LOOP_THREADS_CLAIMS = 16,     // of all other threads of a process: those that run loops are made early, and threads may be made for each job
    LOOP_ANSWER_MS = 1,       // so long most answers of a server on the same machine take at most
    LOOP_OTHER_WAITS = 32,    // at another place, and the loop's own not seen for
    LOOP_GONE_MS = 5000,      // this long: the other place is the loop now
    LOOP_LIKELIER_MS = 1000,  // or this long, where the other object is of a higher rank
    LOOP_RETRY_WAITS = 1024,  // after a claim that found no free slot
    LOOP_FUNCTION_BYTES = 4096,
    LOOP_CALL_BYTES = 128,    // more than one C function's frame, less than one nested call of the interpreter
    LOOP_CLIENT_BYTES = 65536,  // how much further out in the stack than a loop's wait what a handler of C calls may wait (arrays of events)
};

// Where a wait is called: return address, and the stack pointer after the return.
typedef struct loop_place {
    uint64_t address;
    uint64_t sp;
} loop_place;

// What a wait is on: the descriptor of its epoll instance, plus one; LOOP_OTHER_OBJECT: anything else, which its place identifies. An epoll
// instance is the same loop from wherever it is waited on: compilers at run time move the stack, and loops within handlers turn on it as well.
enum { LOOP_OTHER_OBJECT = 0 };

// How likely a wait is an event loop's. Handlers poll as well, mostly for one descriptor: of two waits by turns the one of the higher rank is
// the loop's, and of one rank the one further out in the stack. (Of two only after some waits: CPython's select waits 50 KB further in than its handlers do.) A wait for
// time alone is a sleep: no loop that waits for events has moved there, wherever in the stack it is.
enum { LOOP_RANK_SLEEP = 0, LOOP_RANK_ONE = 1, LOOP_RANK_SEVERAL = 2, LOOP_RANK_EPOLL = 3 };

// What a wait is for: nothing that may last, time alone (or what cannot be examined: a ring), or events of descriptors.
enum { LOOP_FOR_NOTHING = 0, LOOP_FOR_TIME = 1, LOOP_FOR_EVENTS = 2 };

// Of one descriptor the main thread waits for each answer of a server at its start: these claims are counted by themselves.
enum { LOOP_KIND_ONE = 0, LOOP_KIND_SEVERAL = 1, LOOP_KINDS = 2 };

// How fast waits came that were counted one after the other.
typedef struct loop_row {
    uint64_t last_ns;
    int32_t slow_waits;   // that did not come at once after the one before
} loop_row;

typedef struct loop_thread {
    uint32_t process;     // which process this belongs to; another number: left by the parent of a fork
    int32_t pid;          // of that process
    int32_t other_waits;  // how many in a row at `other`, or on `other_object`
    int32_t is_serving;   // the loop or its candidate, on poll or select, has waited, and the thread has accepted a connection since: it serves that one
    int32_t object;       // of the loop; LOOP_OTHER_OBJECT as well where there is no loop
    int32_t other_object;
    int32_t rank;         // of the loop's object, LOOP_RANK_…
    int32_t other_rank;
    uint64_t other_ns;    // when the first of `other_waits` was
    int32_t inner_waits;  // how many in a row that were probably a handler's, within the loop of `other`
    loop_row inner;       // of those
    loop_row row;         // of `other_waits`
    loop_place place;     // of the loop; sp is 0 until there is one
    clb_beacon *beacon;   // in the table; NULL until there was a claim
    clb_ticker ticker;
    loop_place other;
    uint64_t elsewhere_word;  // the beacon's word at the last wait that was not the loop's
    uint64_t moved_sp;    // of the last waits at the loop's place that was reached another way,
    uint64_t moved_word;  // the beacon's word then,
    int32_t moved_waits;  // and how many there were in a row
    int32_t is_moved;     // the last wait that was not the loop's was one of those
    loop_place outer;     // of the loop within which the present one runs; sp is 0 where there is none
    int32_t outer_object;
    int32_t made;         // the instance that the thread has made last, while its loop is on one,
    int32_t made_for_one; // how many in a row were for one wait each,
    uint64_t made_waits;  // and the beacon's sequence when it was made
    uint64_t claim;       // its state: CLB_SLOT_PROVISIONAL is a claim for the candidate at `other`, _LIVE for the loop; _FREE: there is none
    uint32_t index;
    uint8_t provisional_claims[LOOP_KINDS];
    uint64_t accepted;    // the beacon's word since the last connection was accepted; another one: not since the last wait
    uint32_t is_over;     // the thread's destructors run
} loop_thread;

// initial-exec: one instruction to reach. A preloaded library is there when the static block is made.
extern __thread loop_thread loop_self __attribute__((tls_model("initial-exec")));

static inline int loop_is_at(const loop_place *place, uint64_t address, uint64_t sp) {
    return place->sp == sp && address - place->address + LOOP_FUNCTION_BYTES < 2 * LOOP_FUNCTION_BYTES;
}

static inline int loop_is_same_process(const loop_thread *thread) { return thread->process == hot_process(); }

// Whether a wait is the loop's.
static inline int loop_is_own(const loop_thread *thread, int32_t object, uint64_t address, uint64_t sp) {
    return thread->object == object && (object != LOOP_OTHER_OBJECT || loop_is_at(&thread->place, address, sp));
}

// The loop of an epoll instance waits with another stack pointer than before: lagmond is to know how far out the function that waits is.
void loop_move(loop_thread *thread, uint64_t sp);

// A wait that is not the loop's: the thread when it is a rest all the same, otherwise NULL.
loop_thread *loop_consider(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose);

// A wait begins; `purpose` is LOOP_FOR_…. What it returns goes to loop_leave.
static inline loop_thread *loop_enter(int32_t object, int rank, uint64_t address, uint64_t sp, int purpose) {
    loop_thread *thread = &loop_self;
    if (__builtin_expect(!loop_is_same_process(thread) || !loop_is_own(thread, object, address, sp), 0)) {
        return loop_consider(thread, object, rank, address, sp, purpose);
    }
    thread->other_waits = 0;
    thread->is_serving = 0;
    if (__builtin_expect(thread->place.sp != sp, 0)) loop_move(thread, sp);
    clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return thread;
}

// Whether there is a table to publish to.
extern int loop_is_active;
// Whether the program is an interpreter that runs calls of its language without a call of its own, as CPython from 3.11 on and Ruby do.
extern int loop_is_interpreter;
// Its destructor is loop_end_thread.
extern pthread_key_t loop_end_key;
void loop_end_thread(void *thread);
// The first wait of a process that was forked, or the library's start: what the thread knows is its parent's.
void loop_begin_process(const loop_thread *thread);
// What was claimed for a candidate that another one has replaced never was a loop.
void loop_withdraw(loop_thread *thread);

// The loop's wait is another one from now on, and is in progress.
loop_thread *loop_change_place(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);

// Whether this is the place, on poll or select, reached another way.
int loop_is_called_otherwise(const loop_place *place, int32_t object, uint64_t address, uint64_t sp);

// A wait at the loop's place that was reached another way: how many there were in a row.
int32_t loop_count_moved(loop_thread *thread, uint64_t sp);
// If that was the last wait, its place is the loop's from now on.
void loop_confirm_move(loop_thread *thread);

// Another object has this number now.
void loop_begin_object(int32_t object);
// Whether a wait is that of a loop that makes an instance for each wait, on the one that it has made for this.
int loop_is_made_anew(loop_thread *thread, int32_t object, uint64_t address, uint64_t sp);

extern clb_loop_table *loop_table;
// Of a forked process the thread that forked.
extern const loop_thread *loop_main_thread;

// Whether a candidate may have a claim before it is a loop; counts one that may.
int loop_may_claim(loop_thread *thread, int rank, int purpose);
// It may, and others were faster.
void loop_uncount_claim(loop_thread *thread, int rank);
// In a process that was forked: its parent's do not count.
void loop_forget_claims(void);

// What the thread waits for now is no handler's.
void loop_end_service(loop_thread *thread);
// The thread has accepted a connection, or submitted something to a ring.
void loop_accept(int is_connection);

// The process ends by this thread, without further work of its loop.
void loop_finish(void);

// The wait is over; `result` is how many events it returned, or an error. A signal handler may have forked meanwhile, and this may be the child.
static inline void loop_leave(loop_thread *thread, int result) {
    if (__builtin_expect(thread == NULL, 0)) return;
    if (__builtin_expect(!loop_is_same_process(thread), 0)) return;
    clb_beacon_set_turn_events(thread->beacon, result > 0 ? (uint32_t)result : 0);
    clb_beacon_wake_shared(thread->beacon, CLB_ACTIVITY_AFTER_WAITING, clb_ticker_now_ns(&thread->ticker, loop_table));
}

#pragma GCC visibility pop
