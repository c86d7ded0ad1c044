// Derives a thread's loop from its waits. Used by the wrapped calls; none of these symbols are visible outside the library.
#pragma once

// Before the pragma, so that declarations of the C library are not hidden.
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "clb_beacon.h"
#include "clb_loop_table.h"
#include "hot.h"

// Exported by Python interpreters: never hidden.
extern const unsigned long Py_Version __attribute__((weak));

#pragma GCC visibility push(hidden)

enum {
    LOOP_WAITS = 8,           // in a row at one place: a loop; for one descriptor only if they are slower than answers
    LOOP_FEW_WAITS = 2,       // of the main thread, or on an epoll instance, if the first was LOOP_FEW_MS ago
    LOOP_FEW_SET_WAITS = 4,   // of another thread by poll or select (a job may wait twice or three times for one answer), if the first was LOOP_FEW_MS ago
    LOOP_FEW_MS = 500,        // many programs wait once or twice at their start, and wait again within milliseconds
    LOOP_PROVISIONAL_CLAIMS = 4,  // at most, of one thread and one kind (LOOP_KIND_…): a start also waits for other things than a loop's events
    LOOP_THREADS_CLAIMS = 16,     // of all other threads of a process: threads with loops are created early, and a program may create a thread for each job
    LOOP_ANSWER_MS = 1,       // most answers of a server on the same machine take at most this long
    LOOP_OTHER_WAITS = 32,    // at another place, with no wait at the loop's own for LOOP_GONE_MS:
    LOOP_GONE_MS = 5000,      // the other place is the loop now
    LOOP_LIKELIER_MS = 1000,  // the same, if the other object has a higher rank
    LOOP_RETRY_WAITS = 1024,  // after a claim that found no free slot
    LOOP_FUNCTION_BYTES = 4096,
    LOOP_CALL_BYTES = 128,    // more than one C function's frame, less than one nested call of the interpreter
    LOOP_REST_MS = 100,       // an `accept` of this duration blocked: even a busy machine seldom interrupts a call for so long
    LOOP_RESTS = 2,           // a thread that has blocked so often at one socket rests there; once may be a start that waits for its first client
    LOOP_CLIENT_BYTES = 65536,  // how much further out in the stack than a loop's wait a function called by a C handler may wait (arrays of events)
};

// The place of a wait: return address, and the stack pointer after the return.
typedef struct loop_place {
    uint64_t address;
    uint64_t sp;
} loop_place;

// The object of a wait: the descriptor of its epoll instance, plus one; LOOP_OTHER_OBJECT: anything else, which its place identifies. An epoll
// instance is the same loop wherever it is waited on: JIT compilers move the stack, and loops within handlers iterate on it as well.
enum { LOOP_OTHER_OBJECT = 0 };

// How likely a wait is an event loop's. Handlers poll as well, mostly for one descriptor: of two alternating waits, the one with the higher rank is
// the loop's; with equal ranks, the one further out in the stack. (With two descriptors only after some waits: CPython's select waits 50 KB further
// in than its handlers do.) A wait without descriptors is a sleep: a loop that waits for events never moves there, wherever in the stack it is.
enum { LOOP_RANK_SLEEP = 0, LOOP_RANK_ONE = 1, LOOP_RANK_SEVERAL = 2, LOOP_RANK_EPOLL = 3 };

// The purpose of a wait: nothing that may last, only time (or something that cannot be examined: a ring), or events of descriptors.
enum { LOOP_FOR_NOTHING = 0, LOOP_FOR_TIME = 1, LOOP_FOR_EVENTS = 2 };

// At its start, the main thread waits on one descriptor for each answer of a server: these claims are counted separately.
enum { LOOP_KIND_ONE = 0, LOOP_KIND_SEVERAL = 1, LOOP_KINDS = 2 };

// What the other one of two places of a thread is: that of the loop within whose handler the current one, or the candidate, runs; possibly the
// loop's (a start may have waited there, or here a handler: the thread rests at both); or not the loop's.
enum { LOOP_AROUND = 0, LOOP_UNDECIDED = 1, LOOP_PAST = 2 };

// How fast consecutive waits followed each other.
typedef struct loop_row {
    uint64_t last_ns;
    int32_t slow_waits;   // that did not follow the previous one at once
} loop_row;

typedef struct loop_thread {
    uint32_t process;     // the process of this data; another number: left over from the parent of a fork
    int32_t pid;          // process ID of that process
    int32_t other_waits;  // number of waits in a row at `other`, or on `other_object`
    // The loop or its candidate, on poll or select, has waited, and the thread has accepted a connection since, which it serves. Without either: the
    // thread rests in `accept`, and this is a job.
    int32_t is_serving;
    int32_t object;       // of the loop; LOOP_OTHER_OBJECT also without a loop
    int32_t other_object;
    int32_t rank;         // of the loop's object, LOOP_RANK_…
    int32_t other_rank;
    uint64_t other_ns;    // when the first of `other_waits` was
    int32_t inner_waits;  // number of waits in a row that were probably a handler's, within the loop of `other`
    loop_row inner;       // of those
    loop_row row;         // of `other_waits`
    loop_place place;     // of the loop; sp is 0 until there is one
    clb_beacon *beacon;   // in the table; NULL until the first claim
    clb_ticker ticker;
    loop_place other;
    uint64_t elsewhere_word;  // the beacon's word at the last wait that was not the loop's
    uint64_t moved_sp;    // of the last waits at the loop's place with another stack pointer,
    uint64_t moved_word;  // the beacon's word then,
    int32_t moved_waits;  // and their number in a row
    int32_t is_moved;     // the last wait that was not the loop's was one of those
    loop_place outer;     // the other one of two places; sp is 0 if there is none
    int32_t outer_object;
    int32_t outer_role;   // LOOP_AROUND, …
    uint64_t outer_ns;    // of a place that may have been a start's: when its first wait was,
    uint64_t left_ns;     // and when the thread left it for the instance
    int32_t made;         // the instance that the thread has created last, while its loop is on one,
    int32_t made_for_one; // how many in a row were used for one wait each,
    uint64_t made_waits;  // and the beacon's sequence when it was created
    uint64_t claim;       // its state: CLB_SLOT_PROVISIONAL is a claim for the candidate at `other`, _LIVE for the loop; _FREE: none
    uint32_t index;
    uint8_t provisional_claims[LOOP_KINDS];
    int32_t rested_at;    // the listening socket at which the thread rests in `accept`, plus one; 0: none. A loop found meanwhile is a job's
    int32_t rests;        // how often it has blocked there, at most LOOP_RESTS
    int32_t quick_accepts;  // how many calls in a row did not block there; LOOP_OTHER_WAITS: no jobs until one does
    int32_t polled;       // the last such socket that the thread also polls, plus one: it does not rest there
    uint64_t job_ns;      // when the thread last rested there, or began a job,
    uint32_t job_instance;  // and the last instance that the process had created when the job began
    uint64_t accepted;    // the beacon's word since the last connection was accepted; another one: not since the last wait
    uint32_t is_over;     // the thread's destructors are running
} loop_thread;

// initial-exec: accessed with one instruction. A preloaded library is loaded when the static TLS block is created.
extern __thread loop_thread loop_self __attribute__((tls_model("initial-exec")));

static inline int loop_is_at(const loop_place *place, uint64_t address, uint64_t sp) {
    return place->sp == sp && address - place->address + LOOP_FUNCTION_BYTES < 2 * LOOP_FUNCTION_BYTES;
}

// Whether a wait of this rank is made at a place with waits of `place_rank`. Another call of the same function counts as well, because many loops poll
// without blocking first; but not for fewer descriptors: then a compiler has put a handler into the loop's function.
static inline int loop_is_made_at(const loop_place *place, int place_rank, int rank, uint64_t address, uint64_t sp) {
    return loop_is_at(place, address, sp) && (address == place->address || rank >= place_rank);
}

static inline int loop_is_same_process(const loop_thread *thread) { return thread->process == hot_process(); }

// Whether a wait is the loop's.
static inline int loop_is_own(const loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    return thread->object == object
        && (object != LOOP_OTHER_OBJECT || loop_is_made_at(&thread->place, thread->rank, rank, address, sp));
}

// The loop waits for more descriptors than before: of the calls of its function, this one is the loop's.
void loop_raise(loop_thread *thread, int rank, uint64_t address);

// The loop of an epoll instance waits with another stack pointer than before: publishes to lagmond how far out the waiting function is.
void loop_move(loop_thread *thread, uint64_t sp);

// Handles a wait that is not the loop's: returns the thread if it is a rest anyway, otherwise NULL.
loop_thread *loop_consider(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose);

// A wait begins; `purpose` is LOOP_FOR_…. Pass the result to loop_leave.
static inline loop_thread *loop_enter(int32_t object, int rank, uint64_t address, uint64_t sp, int purpose) {
    loop_thread *thread = &loop_self;
    if (__builtin_expect(!loop_is_same_process(thread) || !loop_is_own(thread, object, rank, address, sp), 0)) {
        return loop_consider(thread, object, rank, address, sp, purpose);
    }
    thread->other_waits = 0;
    thread->is_serving = 0;
    if (__builtin_expect(thread->place.sp != sp, 0)) loop_move(thread, sp);
    if (__builtin_expect(rank > thread->rank, 0)) loop_raise(thread, rank, address);
    clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return thread;
}

// Whether there is a table to publish to.
extern int loop_is_active;
// Whether the program is an interpreter that runs calls of its language without a C call, as CPython from 3.11 on and Ruby do.
extern int loop_is_interpreter;
// Its destructor is loop_end_thread.
extern pthread_key_t loop_end_key;
void loop_end_thread(void *thread);
// Prepares the thread's data at its first call in this process; 0: its waits do not count.
int loop_begin(loop_thread *thread);
// Called at the first wait of a forked process, or at the library's start: the thread's data belongs to its parent.
void loop_begin_process(const loop_thread *thread);
// Withdraws the claim for a candidate that another one has replaced: it never was a loop.
void loop_withdraw(loop_thread *thread);
// Ends the claim of a loop: what its thread does now is not the loop's work. `state` is CLB_SLOT_ENDED or CLB_SLOT_WITHDRAWN.
void loop_end_claim(clb_beacon *beacon, uint32_t index, uint64_t claim, uint32_t state);
// The thread has neither a loop nor a candidate from now on. Withdraws its claim.
void loop_forget(loop_thread *thread);
// `state` is CLB_SLOT_LIVE or CLB_SLOT_PROVISIONAL. For a provisional claim the thread has no place, so each of its waits is examined.
// NULL: there is no free slot.
loop_thread *loop_claim_slot(loop_thread *thread, uint32_t state, int32_t object, int rank, uint64_t address, uint64_t sp);
// This wait is the first one of another candidate.
void loop_begin_candidate(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);

// If the thread's loop may have been its start's, and this wait is on an epoll instance: the wait is a candidate's from now on.
int loop_leave_start(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose);
// Whether this wait is at the other one of two places, and that may be the loop's.
int loop_is_back(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose);
// That wait is the thread's loop again.
loop_thread *loop_return(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);
// The loop's wait is another one, because the thread has waited there often; it may return.
loop_thread *loop_follow(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);
// The process has created another instance.
void loop_record_instance(int32_t object);
uint32_t loop_last_instance(void);
// Whether it was created before or as that one.
int loop_is_created_by(int32_t object, uint32_t instance);

// The claimed candidate is now a loop. Called before the rest that ends its work, so that an observer of the rest sees a loop.
loop_thread *loop_confirm(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);

// From now on the loop's wait is another one, which is in progress.
loop_thread *loop_change_place(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp);

// Whether this is the place, on poll or select, with another stack pointer.
int loop_is_called_otherwise(const loop_place *place, int32_t object, uint64_t address, uint64_t sp);

// Counts a wait at the loop's place with another stack pointer; returns their number in a row.
int32_t loop_count_moved(loop_thread *thread, uint64_t sp);
// If the last wait was such a wait, its place is the loop's from now on.
void loop_confirm_move(loop_thread *thread);

// Call it when another object has this number.
void loop_begin_object(int32_t object);
// Whether a wait belongs to a loop that creates an instance for each wait, and is on the instance for this wait.
int loop_is_made_anew(loop_thread *thread, int32_t object, uint64_t address, uint64_t sp);

extern clb_loop_table *loop_table;
// In a forked process, the thread that forked.
extern const loop_thread *loop_main_thread;

// Whether a candidate may have a claim before it is a loop; if so, counts it.
int loop_may_claim(loop_thread *thread, int rank, int purpose);
// Takes the count back: other threads were faster.
void loop_uncount_claim(loop_thread *thread, int rank);
// In a forked process, the parent's claims do not count.
void loop_forget_claims(void);

// From now on the thread's waits do not belong to a handler.
void loop_end_service(loop_thread *thread);
// The thread has accepted a connection, or submitted something to a ring.
void loop_accept(int is_connection);
// A call of `accept` begins; returns its time. Pass it to loop_end_accept.
uint64_t loop_begin_accept(int listener);
void loop_end_accept(int listener, uint64_t begun_ns, int connection);
// Whether a wait on this object shows that the thread's waits are not only those of a job.
int loop_is_job_over(const loop_thread *thread, int32_t object);
// The socket at which this thread may rest, plus one. If it is in a set that the thread has polled, report that.
static inline int32_t loop_rested_at(void) { return loop_self.rested_at; }
void loop_record_polled(void);

// This thread ends the process, without further work of its loop.
void loop_finish(void);

// The wait is over; `result` is the number of events, or an error. A signal handler may have forked meanwhile, and this may be the child.
static inline void loop_leave(loop_thread *thread, int result) {
    if (__builtin_expect(thread == NULL, 0)) return;
    if (__builtin_expect(!loop_is_same_process(thread), 0)) return;
    clb_beacon_set_turn_events(thread->beacon, result > 0 ? (uint32_t)result : 0);
    clb_beacon_wake_shared(thread->beacon, CLB_ACTIVITY_AFTER_WAITING, clb_ticker_now_ns(&thread->ticker, loop_table));
}

#pragma GCC visibility pop
