// Connections that a thread accepts between waits of its loop.
#include "loop.h"

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
