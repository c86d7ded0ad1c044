// Finds, changes and ends a thread's loop.
#define _GNU_SOURCE
#include "hot.h"
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread loop_thread loop_self __attribute__((tls_model("initial-exec")));
const loop_thread *loop_main_thread;
static uint32_t last_process;

// MARK: Processes

void loop_begin_process(const loop_thread *thread) {
    // A number that this memory has never used: only the forking thread and `last_process` remember earlier ones.
    uint32_t number = (last_process > thread->process ? last_process : thread->process) + 1;
    if (number == 0) number = 1;
    last_process = number;
    loop_forget_claims();
    __atomic_store_n(&hot.pid, (int32_t)getpid(), __ATOMIC_RELAXED);
    uint32_t wiped = 0;
    __atomic_compare_exchange_n(&hot.process, &wiped, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void begin_thread(loop_thread *thread) {
    if (hot_process() == 0) loop_begin_process(thread);
    // In a forked process, the thread that forked.
    pid_t pid = getpid();
    if ((pid_t)syscall(SYS_gettid) == pid) loop_main_thread = thread;
    memset(thread, 0, sizeof(*thread));
    thread->pid = pid;
    thread->process = hot_process();
}

int loop_begin(loop_thread *thread) {
    if (!__atomic_load_n(&loop_is_active, __ATOMIC_ACQUIRE)) return 0;
    if (thread->process == 0 || !loop_is_same_process(thread)) {
        if (clb_makes_no_calls()) return 0;
        begin_thread(thread);
    }
    return !thread->is_over;
}

// MARK: Loops

void loop_end_thread(void *value) {
    loop_thread *thread = value;
    // Later destructors may wait as well: from now on that does not count.
    if (thread->claim != 0 && loop_is_same_process(thread)) loop_end_claim(thread->beacon, thread->index, thread->claim, CLB_SLOT_ENDED);
    thread->place.sp = 0;
    thread->object = LOOP_OTHER_OBJECT;
    thread->beacon = NULL;
    thread->claim = 0;
    thread->is_over = 1;
    thread->process = hot_process();
}

static void publish_place(const loop_thread *thread, int32_t object, uint64_t address, uint64_t sp) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    __atomic_store_n(&slot->wait_object, object, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait_return, address, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait_sp, sp, __ATOMIC_RELAXED);
}

static void write_place(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    publish_place(thread, object, address, sp);
    thread->object = object;
    thread->rank = rank;
    thread->place = (loop_place){.address = address, .sp = sp};
    thread->other_waits = 0;
    thread->is_serving = 0;
    thread->made = LOOP_OTHER_OBJECT;
    thread->made_for_one = 0;
}

static loop_thread *rest(loop_thread *thread) {
    clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return thread;
}

loop_thread *loop_claim_slot(loop_thread *thread, uint32_t state, int32_t object, int rank, uint64_t address, uint64_t sp) {
    // Claiming needs system calls: to query IDs, and to wake lagmond.
    int32_t index = clb_makes_no_calls()
        ? -1 : clb_loop_table_claim_slot(loop_table, CLB_LOOP_FROM_PRELOAD, getpid(), 0, clb_now_ns(), &thread->claim);
    if (index < 0) {
        if (state == CLB_SLOT_LIVE) thread->other_waits = LOOP_WAITS - LOOP_RETRY_WAITS;
        return NULL;
    }
    thread->index = (uint32_t)index;
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    slot->claimed_ns = thread->other_ns;
    // lagmond reads the rest (name, stack) from the kernel, because a program in a sandbox may not be allowed to query it.
    __atomic_store_n(&slot->tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    // This comes first: once the place is set, a signal handler's wait counts as the loop's too.
    thread->beacon = clb_loop_table_beacon(loop_table, thread->index);
    if (state == CLB_SLOT_LIVE) write_place(thread, object, rank, address, sp);
    else publish_place(thread, object, address, sp);
    pthread_setspecific(loop_end_key, thread);
    rest(thread);
    clb_loop_table_publish(loop_table, thread->index, state, &thread->claim);
    return thread;
}

static int is_other(const loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    return thread->other_object == object
        && (object != LOOP_OTHER_OBJECT || loop_is_made_at(&thread->other, thread->other_rank, rank, address, sp));
}

static int is_other_otherwise(const loop_thread *thread, int32_t object, uint64_t address, uint64_t sp) {
    return thread->other_object == object && loop_is_called_otherwise(&thread->other, object, address, sp);
}

// Whether the thread with a claim has not been at its place for long.
static int has_been_gone(const loop_thread *thread, int32_t milliseconds) {
    uint64_t last_ns = __atomic_load_n(&thread->beacon->callout_ns, __ATOMIC_RELAXED);
    return (int64_t)(clb_now_ns() - last_ns) >= (int64_t)milliseconds * 1000000;
}

// Whether the candidate is obsolete: it has not waited while others waited often and for long.
static int is_past(const loop_thread *thread) {
    return thread->inner_waits >= LOOP_OTHER_WAITS && (thread->claim == 0 || has_been_gone(thread, LOOP_GONE_MS));
}

// Adds a wait to a row of `waits`: whether at least half of them came as fast as a server's answers. (A loop rests between its waits.)
static int is_dialogue(loop_row *row, int32_t waits) {
    uint64_t now_ns = clb_now_ns();
    if (waits == 0) row->slow_waits = 0;
    else row->slow_waits += now_ns - row->last_ns >= (uint64_t)LOOP_ANSWER_MS * 1000000;
    row->last_ns = now_ns;
    return 2 * row->slow_waits <= waits;
}

// Counts a wait that is not the loop's; returns how many there were in a row. A handler's own waits, of a lower rank or further in the stack, do not
// end the row of the loop around it, unless that loop no longer waits.
static int32_t count_other(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    int is_candidates = is_other(thread, object, rank, address, sp);
    if (is_candidates || (rank == thread->other_rank && is_other_otherwise(thread, object, address, sp))) {
        if (!is_candidates) thread->other.sp = sp;
        if (rank > thread->other_rank) {
            thread->other.address = address;
            thread->other_rank = rank;
        }
        thread->inner_waits = 0;
        return ++thread->other_waits;
    }
    int is_inner = rank < thread->other_rank || (rank == thread->other_rank && sp < thread->other.sp);
    // A client library polls its connection for each answer: possibly many times within one iteration of a loop on epoll, or of one on poll that waits
    // further out, possibly on the same connection (Xlib). (Code that waits much further out than a candidate on epoll is not a handler of it.)
    int is_beside = thread->other_rank == LOOP_RANK_EPOLL && (loop_is_interpreter || sp < thread->other.sp + LOOP_CLIENT_BYTES);
    int is_within = thread->other_rank != LOOP_RANK_EPOLL && sp < thread->other.sp;
    int is_clients = rank == LOOP_RANK_ONE && (is_beside || (is_within && is_dialogue(&thread->inner, thread->inner_waits)));
    if (is_inner && (++thread->inner_waits < LOOP_WAITS || (is_clients && !is_past(thread)))) return 0;
    loop_begin_candidate(thread, object, rank, address, sp);
    return 1;
}

void loop_begin_candidate(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    thread->other = (loop_place){.address = address, .sp = sp};
    thread->other_object = object;
    thread->other_rank = rank;
    thread->inner_waits = 0;
    thread->other_waits = 1;
}

loop_thread *loop_change_place(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    write_place(thread, object, rank, address, sp);
    thread->outer.sp = 0;
    __atomic_store_n(&slot->changes, slot->changes + 1, __ATOMIC_RELAXED);
    return rest(thread);
}

static loop_thread *handle_other_place(
    loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose
) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    // A thread that waits further out has left the function that waited before: that start-up, or loop within a handler, is over. (For a loop on epoll
    // the place shows nothing, and little if the language's functions are not on this stack, or the loop's wait has a large frame of its own.)
    int may_last = purpose != LOOP_FOR_NOTHING;
    int is_further_out = may_last && rank >= thread->rank && thread->rank != LOOP_RANK_EPOLL && sp > thread->place.sp;
    int has_left = is_further_out && !loop_is_interpreter && !thread->is_serving;
    if (has_left && rank != LOOP_RANK_EPOLL) return loop_change_place(thread, object, rank, address, sp);
    if (loop_is_back(thread, object, rank, address, sp, purpose)) return loop_return(thread, object, rank, address, sp);
    int is_moved = may_last && rank == thread->rank && thread->object == object && loop_is_called_otherwise(&thread->place, object, address, sp);
    if (is_moved && loop_count_moved(thread, sp) >= LOOP_FEW_SET_WAITS) return loop_change_place(thread, object, rank, address, sp);
    thread->is_moved = is_moved;
    int32_t others = 0;
    if (may_last && !is_moved) {
        thread->elsewhere_word = clb_beacon_word(thread->beacon);
        others = count_other(thread, object, rank, address, sp);
    }
    // Objects that programs wait on at their start have a lower rank than their loop's object. So has the only descriptor of a small loop whose handlers
    // repeatedly call a library that waits on several; but that loop returns. (After a thread has left its place, only an epoll instance is handled
    // here. It stays the loop wherever it is waited on, and a single wait may also belong to a start.)
    int32_t needed = has_left ? LOOP_FEW_SET_WAITS : LOOP_WAITS;
    if (others >= needed && !thread->is_serving && is_further_out) return loop_change_place(thread, object, rank, address, sp);
    int is_likelier = rank > thread->rank && others >= needed && !thread->is_serving && has_been_gone(thread, LOOP_LIKELIER_MS);
    if (is_likelier || (others >= LOOP_OTHER_WAITS && has_been_gone(thread, LOOP_GONE_MS))) return loop_follow(thread, object, rank, address, sp);
    __atomic_store_n(&slot->inner_waits, slot->inner_waits + 1, __ATOMIC_RELAXED);
    return NULL;
}

// Whether this many waits in a row prove a loop. Fewer suffice if the first is long ago: a loop's first stall counts, and some loops iterate only a few
// times in their lives. For threads other than the main thread, which mostly belong to pools, only if they are watched since the first wait. For one
// descriptor a row may be a dialogue with a server: X11's clients begin with dozens of round trips, of which eight take some 0.2 ms.
static int is_loop(loop_thread *thread, int32_t waits) {
    if (waits <= 0) return 0;
    int rank = thread->other_rank, is_main = thread == loop_main_thread;
    int is_fast = is_dialogue(&thread->row, waits - 1);
    if (waits >= LOOP_WAITS && (rank > LOOP_RANK_ONE || !is_fast)) return 1;
    if (waits == 1) thread->other_ns = thread->row.last_ns;
    if (waits < LOOP_WAITS && !is_main && (rank <= LOOP_RANK_ONE || (waits > 1 && thread->claim == 0))) return 0;
    int32_t few = is_main || rank == LOOP_RANK_EPOLL ? LOOP_FEW_WAITS : LOOP_FEW_SET_WAITS;
    return waits >= few && (int64_t)(thread->row.last_ns - thread->other_ns) >= (int64_t)LOOP_FEW_MS * 1000000;
}

loop_thread *loop_confirm(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    write_place(thread, object, rank, address, sp);
    clb_loop_table_change(loop_table, thread->index, thread->claim, CLB_SLOT_LIVE);
    thread->claim = clb_claim_with_state(thread->claim, CLB_SLOT_LIVE);
    return rest(thread);
}

// Handles the candidate's wait on `object`, with the number of waits in a row; 0: this wait is within its work.
static loop_thread *handle_candidate(
    loop_thread *thread, int32_t waits, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose
) {
    if (thread->claim != 0 && waits == 1) loop_withdraw(thread);
    int is_claimed = thread->claim != 0;
    if (is_loop(thread, waits)) {
        // If it began before the thread rested in `accept`, that was within a handler.
        if (thread->other_ns < thread->job_ns) thread->rested_at = 0;
        if (is_claimed) return loop_confirm(thread, object, rank, address, sp);
        return loop_claim_slot(thread, CLB_SLOT_LIVE, object, rank, address, sp);
    }
    if (is_claimed && waits > 0) {
        // (For poll and select it is the same place.)
        publish_place(thread, object, address, sp);
        return rest(thread);
    }
    if (is_claimed) return NULL;
    if (waits <= 0 || !loop_may_claim(thread, rank, purpose)) return NULL;
    loop_thread *claimed = loop_claim_slot(thread, CLB_SLOT_PROVISIONAL, object, rank, address, sp);
    if (claimed == NULL) loop_uncount_claim(thread, rank);
    return claimed;
}

// Whether a candidate's handler waits, which serves an accepted connection; or a job, during which there is no candidate.
static int is_within_service(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    if (!thread->is_serving) return 0;
    int is_candidates = is_other(thread, object, rank, address, sp) || is_other_otherwise(thread, object, address, sp);
    if (!is_candidates) ++thread->inner_waits;
    int is_over = thread->other.sp == 0 ? loop_is_job_over(thread, object) : is_past(thread);
    if (!is_candidates && !is_over) return 1;
    loop_end_service(thread);
    return 0;
}

__attribute__((noinline)) loop_thread *loop_consider(
    loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose
) {
    if (!loop_begin(thread)) return NULL;
    uint32_t state = clb_claim_state(thread->claim);
    if (state == CLB_SLOT_LIVE && object != LOOP_OTHER_OBJECT && loop_is_made_anew(thread, object, address, sp)) {
        thread->other_waits = 0;
        return rest(thread);
    }
    if (state != CLB_SLOT_FREE && state != CLB_SLOT_PROVISIONAL) {
        if (loop_leave_start(thread, object, rank, address, sp, purpose)) return thread;
        return handle_other_place(thread, object, rank, address, sp, purpose);
    }
    if (loop_is_back(thread, object, rank, address, sp, purpose)) return loop_return(thread, object, rank, address, sp);
    // A wait that cannot last does not prove a loop by itself. But a loop with work at each iteration (libuv with pending immediates) repeatedly waits
    // with timeout 0 at its place, and waits for long only when idle: at the place of an earlier lasting wait, they count.
    if (purpose == LOOP_FOR_NOTHING && !is_other(thread, object, rank, address, sp)) {
        // Connections accepted now come from this wait, not from the candidate.
        if (thread->inner_waits == 0) thread->inner_waits = 1;
        return NULL;
    }
    if (is_within_service(thread, object, rank, address, sp)) return NULL;
    int32_t waits = count_other(thread, object, rank, address, sp);
    int saved = errno;
    loop_thread *result = handle_candidate(thread, waits, object, rank, address, sp, purpose);
    errno = saved;
    return result;
}
