// Changes of a loop's place: another stack pointer, or another call of its function.
#include "loop.h"

__attribute__((noinline)) void loop_move(loop_thread *thread, uint64_t sp) {
    thread->place.sp = sp;
    __atomic_store_n(&clb_loop_table_slot_at(loop_table, thread->index)->wait_sp, sp, __ATOMIC_RELAXED);
}

__attribute__((noinline)) void loop_raise(loop_thread *thread, int rank, uint64_t address) {
    thread->rank = rank;
    thread->place.address = address;
    __atomic_store_n(&clb_loop_table_slot_at(loop_table, thread->index)->wait_return, address, __ATOMIC_RELAXED);
}

// CPython from 3.11 on calls a C function with one frame less in between after the calling code has run some times.
int loop_is_called_otherwise(const loop_place *place, int32_t object, uint64_t address, uint64_t sp) {
    uint64_t difference = sp - place->sp + LOOP_CALL_BYTES;
    return &Py_Version != NULL && object == LOOP_OTHER_OBJECT && difference < 2 * LOOP_CALL_BYTES && loop_is_at(place, address, place->sp);
}

int32_t loop_count_moved(loop_thread *thread, uint64_t sp) {
    // The thread has left its place since, or this is a third one.
    uint64_t word = clb_beacon_word(thread->beacon);
    if (thread->moved_word != word || thread->moved_sp != sp) thread->moved_waits = 0;
    thread->moved_word = word;
    thread->moved_sp = sp;
    loop_end_service(thread);
    return ++thread->moved_waits;
}

// Whether the last wait was the loop's, at another place.
static int has_moved(const loop_thread *thread) {
    return clb_claim_state(thread->claim) == CLB_SLOT_LIVE && thread->is_moved && thread->moved_word == clb_beacon_word(thread->beacon);
}

void loop_confirm_move(loop_thread *thread) {
    if (!has_moved(thread)) return;
    loop_change_place(thread, thread->object, thread->rank, thread->place.address, thread->moved_sp);
    loop_leave(thread, 1);
}
