// Connections that a thread accepts between waits of its loop, or while it rests in `accept`.
#include "loop.h"

#include <errno.h>

// Whether the thread's last wait was that of its loop or its candidate, on poll or select.
static int is_from_last_wait(const loop_thread *thread) {
    if (clb_claim_state(thread->claim) == CLB_SLOT_LIVE) {
        return thread->object == LOOP_OTHER_OBJECT && thread->elsewhere_word != clb_beacon_word(thread->beacon);
    }
    int is_candidates = thread->other_waits > 0 && thread->inner_waits == 0;
    return is_candidates && thread->other_object == LOOP_OTHER_OBJECT && thread->other_rank > LOOP_RANK_SLEEP;
}

void loop_end_service(loop_thread *thread) {
    thread->is_serving = 0;
    if (thread->claim != 0) __atomic_store_n(&clb_loop_table_slot_at(loop_table, thread->index)->served_word, 0, __ATOMIC_RELAXED);
}

// If a loop on `poll` or `select` serves one connection and then accepts the next without waiting for it, it has returned to its source of work:
// that is an iteration, although without a rest. After the first accept since a wait, waits until the loop's next wait belong to a handler, whatever
// they wait on. (On epoll the other connections wait meanwhile.) The same holds for a loop that submits again to its ring of io_uring.
void loop_accept(int is_connection) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    // The wait for connections is that of the loop.
    if (is_connection) loop_confirm_move(thread);
    if (is_connection && is_from_last_wait(thread)) thread->is_serving = 1;
    uint32_t state = clb_claim_state(thread->claim);
    if (state == CLB_SLOT_LIVE && thread->object == LOOP_OTHER_OBJECT) {
        if (thread->accepted == clb_beacon_word(thread->beacon)) {
            clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
            loop_leave(thread, 1);
        }
        thread->accepted = clb_beacon_word(thread->beacon);
    }
    if (!thread->is_serving || state == CLB_SLOT_FREE) return;
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    __atomic_store_n(&slot->served_word, clb_beacon_word(thread->beacon), __ATOMIC_RELAXED);
}

// MARK: Rests

static int rests_at(const loop_thread *thread, int listener) {
    return thread->rested_at > 0 && thread->rested_at - 1 == listener && thread->process != 0 && loop_is_same_process(thread);
}

static int is_live(const loop_thread *thread) { return clb_claim_state(thread->claim) == CLB_SLOT_LIVE; }

// Also one that the thread has left for a candidate, and may return to.
static int has_loop(const loop_thread *thread) { return is_live(thread) || thread->outer.sp != 0; }

// What a thread that rests in `accept` does with each connection is a job: its waits belong to no loop, unless they go on for as long as those of a
// loop within a handler do. What looked like a loop was the last job's.
static void begin_job(loop_thread *thread) {
    loop_forget(thread);
    thread->is_serving = 1;
    thread->job_ns = clb_now_ns();
    thread->job_instance = loop_last_instance();
}

// A single rest may be a start's, which waits for its first client: such a job neither lasts nor uses earlier instances.
int loop_is_job_over(const loop_thread *thread, int32_t object) {
    int is_start = thread->rests < LOOP_RESTS;
    if (is_start && loop_is_created_by(object, thread->job_instance)) return 1;
    if (!is_start && thread->inner_waits < LOOP_OTHER_WAITS) return 0;
    return (int64_t)(clb_now_ns() - thread->job_ns) >= (int64_t)LOOP_GONE_MS * 1000000;
}

void loop_record_polled(void) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    thread->polled = thread->rested_at;
    thread->rested_at = 0;
    loop_end_service(thread);
}

// A thread without a loop that blocks in `accept` rests there, unless it also polls that socket: then several processes that wait for connections may get
// there at the same time. (A loop that blocks there stalls. But one that began after such a rest is over: it was a job's.)
static void rest_at(loop_thread *thread, int listener, int connection) {
    if (!rests_at(thread, listener)) {
        if (has_loop(thread) || thread->polled == listener + 1) return;
        thread->rested_at = listener + 1;
        thread->rests = 0;
    }
    // A signal or a time limit ends the call, not the rest.
    if (connection >= 0 && thread->rests < LOOP_RESTS) thread->rests++;
    thread->quick_accepts = 0;
    thread->job_ns = clb_now_ns();
    // Once may be a handler of a candidate.
    if (thread->rests >= LOOP_RESTS || thread->other.sp == 0 || is_live(thread)) begin_job(thread);
}

static void accept_at_once(loop_thread *thread, int64_t passed_ns, int connection) {
    int is_slow = passed_ns >= (int64_t)LOOP_ANSWER_MS * 1000000;
    // The socket does not block, so no thread rests there.
    int is_nonblocking = connection < 0 && errno == EAGAIN && !is_slow;
    if (has_loop(thread)) {
        if (is_live(thread)) loop_leave(thread, connection >= 0);
        // That rest was a start's.
        if (thread->rests < LOOP_RESTS || is_nonblocking) thread->rested_at = 0;
        return;
    }
    if (is_nonblocking) {
        thread->rested_at = 0;
        loop_end_service(thread);
        return;
    }
    // Until it rests again.
    if (thread->quick_accepts >= LOOP_OTHER_WAITS) return;
    thread->quick_accepts = is_slow ? 0 : thread->quick_accepts + 1;
    // Another socket may have this number by now.
    if (thread->quick_accepts >= LOOP_OTHER_WAITS) loop_end_service(thread);
    else if (connection >= 0 && thread->rests >= LOOP_RESTS) begin_job(thread);
}

uint64_t loop_begin_accept(int listener) {
    loop_thread *thread = &loop_self;
    if (!__atomic_load_n(&loop_is_active, __ATOMIC_ACQUIRE)) return 0;
    // The loop was probably a job's.
    if (rests_at(thread, listener) && is_live(thread)) clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return clb_ticker_now_ns(&thread->ticker, loop_table);
}

static void end_accept(loop_thread *thread, int listener, uint64_t begun_ns, int connection) {
    // Negative if the ticker was ahead of the clock when the call began.
    int64_t passed_ns = (int64_t)(clb_ticker_now_ns(&thread->ticker, loop_table) - begun_ns);
    // A thread that waits for connections otherwise has waited before its first one.
    int is_first = thread->process == 0 || !loop_is_same_process(thread);
    if (passed_ns >= (int64_t)LOOP_REST_MS * 1000000 || (is_first && connection >= 0)) {
        if (loop_begin(thread)) rest_at(thread, listener, connection);
    } else if (rests_at(thread, listener)) {
        accept_at_once(thread, passed_ns, connection);
    }
}

void loop_end_accept(int listener, uint64_t begun_ns, int connection) {
    int saved = errno;
    if (begun_ns != 0) end_accept(&loop_self, listener, begun_ns, connection);
    errno = saved;
    if (connection >= 0) loop_accept(1);
}
