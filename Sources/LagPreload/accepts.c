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
    return thread->rested_at == listener + 1 && thread->process != 0 && loop_is_same_process(thread);
}

// A thread without a loop that blocks in `accept` rests there, unless it also polls that socket: then several processes that wait for connections may get
// there at the same time. What it does with each connection is a job: its waits belong to no loop, unless they go on for as long as those of a loop
// within a handler do. (The first job may be the only one, and a loop. A loop that is known already, and blocks in `accept`, stalls.)
static void begin_job(loop_thread *thread, uint64_t now_ns, int is_first) {
    loop_forget(thread);
    thread->is_serving = !is_first;
    thread->job_ns = now_ns;
}

static void end_rests(loop_thread *thread) {
    thread->rested_at = 0;
    loop_end_service(thread);
}

void loop_record_polled(void) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    thread->polled = thread->rested_at;
    end_rests(thread);
}

// Before it blocks: what looked like a loop was the last job's.
uint64_t loop_begin_accept(int listener) {
    loop_thread *thread = &loop_self;
    if (!__atomic_load_n(&loop_is_active, __ATOMIC_ACQUIRE)) return 0;
    uint64_t now_ns = clb_ticker_now_ns(&thread->ticker, loop_table);
    if (rests_at(thread, listener)) begin_job(thread, now_ns, 0);
    return now_ns;
}

// Whether the call was a rest. A thread that waits for connections otherwise has waited before its first one.
static int is_rest(const loop_thread *thread, uint64_t passed_ns, int connection) {
    int is_first = thread->process == 0 || !loop_is_same_process(thread);
    return (is_first && connection >= 0) || passed_ns >= (uint64_t)LOOP_REST_MS * 1000000;
}

static void end_accept(loop_thread *thread, int listener, uint64_t begun_ns, int connection) {
    uint64_t now_ns = clb_ticker_now_ns(&thread->ticker, loop_table);
    uint64_t passed_ns = now_ns - begun_ns;
    if (rests_at(thread, listener)) {
        thread->quick_accepts = passed_ns >= (uint64_t)LOOP_ANSWER_MS * 1000000 ? 0 : thread->quick_accepts + 1;
        thread->job_ns = now_ns;
        if (thread->quick_accepts < LOOP_OTHER_WAITS) return;
        // Another socket may have this number by now, as after a start that waited for one connection.
        end_rests(thread);
    } else if (is_rest(thread, passed_ns, connection)) {
        if (!loop_begin(thread) || clb_claim_state(thread->claim) == CLB_SLOT_LIVE || thread->polled == listener + 1) return;
        begin_job(thread, now_ns, 1);
        thread->rested_at = listener + 1;
        thread->quick_accepts = 0;
    }
}

void loop_end_accept(int listener, uint64_t begun_ns, int connection) {
    int saved = errno;
    if (begun_ns != 0) end_accept(&loop_self, listener, begun_ns, connection);
    errno = saved;
    if (connection >= 0) loop_accept(1);
}
