// What a thread has come from its loop's wait for.
#include "loop.h"

// Whether the thread's last wait was its loop's or its candidate's, on poll or select.
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

// A loop on `poll` or `select` that serves one connection, and then takes the next without a wait for it, has come back to its source of work: that is a
// turn, though without a rest. At the first one since a wait it has come from there, and what waits until its next wait is a handler, whatever it waits
// on. (On epoll the other connections wait meanwhile.) So has one that submits again to its ring of io_uring.
void loop_accept(int is_connection) {
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    // What waits for connections is the loop.
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
