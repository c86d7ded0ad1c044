// The ends of claims, and how many candidates may have before they are known to be loops.
#include "loop.h"

// For threads that have withdrawn a claim: a wait may be in progress (this one is in a signal handler) whose end they publish.
static clb_beacon unread_beacon;

// The claims of threads other than the main thread.
static uint32_t threads_claims;

void loop_forget_claims(void) { __atomic_store_n(&threads_claims, 0, __ATOMIC_RELAXED); }

// Candidates leave half of the table to known loops. Takes some 0.1 µs.
static int has_free_half(void) {
    int free_slots = 0;
    for (uint32_t index = 0; index < CLB_LOOP_TABLE_SLOTS; index++) {
        free_slots += clb_claim_state(__atomic_load_n(clb_loop_table_claim_word(loop_table, index), __ATOMIC_RELAXED)) == CLB_SLOT_FREE;
    }
    return free_slots >= CLB_LOOP_TABLE_SLOTS / 2;
}

void loop_withdraw(loop_thread *thread) {
    thread->beacon = &unread_beacon;
    clb_loop_table_end(loop_table, thread->index, thread->claim);
    thread->claim = 0;
}

void loop_end_claim(clb_beacon *beacon, uint32_t index, uint64_t claim, uint32_t state) {
    clb_beacon_publish_shared(beacon, CLB_ACTIVITY_FINISHED);
    clb_loop_table_change(loop_table, index, claim, state);
}

void loop_forget(loop_thread *thread) {
    if (clb_claim_state(thread->claim) == CLB_SLOT_LIVE) {
        loop_end_claim(thread->beacon, thread->index, thread->claim, CLB_SLOT_WITHDRAWN);
        thread->beacon = &unread_beacon;
        thread->claim = 0;
    } else if (thread->claim != 0) {
        loop_withdraw(thread);
    }
    thread->place.sp = thread->other.sp = thread->outer.sp = 0;
    thread->object = thread->other_object = LOOP_OTHER_OBJECT;
    thread->other_rank = LOOP_RANK_SLEEP;
    thread->other_waits = thread->inner_waits = 0;
}

static uint8_t *claims_of(loop_thread *thread, int rank) {
    return &thread->provisional_claims[rank == LOOP_RANK_ONE ? LOOP_KIND_ONE : LOOP_KIND_SEVERAL];
}

int loop_may_claim(loop_thread *thread, int rank, int purpose) {
    if (purpose != LOOP_FOR_EVENTS) return 0;
    uint8_t *claims = claims_of(thread, rank);
    if (*claims >= LOOP_PROVISIONAL_CLAIMS || !has_free_half()) return 0;
    if (thread != loop_main_thread) {
        // Jobs poll too, mostly for one descriptor.
        if (rank == LOOP_RANK_ONE || __atomic_load_n(&threads_claims, __ATOMIC_RELAXED) >= LOOP_THREADS_CLAIMS) return 0;
        if (__atomic_fetch_add(&threads_claims, 1, __ATOMIC_RELAXED) >= LOOP_THREADS_CLAIMS) return 0;
    }
    ++*claims;
    return 1;
}

void loop_uncount_claim(loop_thread *thread, int rank) {
    if (thread != loop_main_thread) __atomic_fetch_sub(&threads_claims, 1, __ATOMIC_RELAXED);
    --*claims_of(thread, rank);
}

static void publish_object(const loop_thread *thread) {
    int is_made_anew = thread->made_for_one >= LOOP_FEW_WAITS;
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    __atomic_store_n(&slot->wait_object, is_made_anew ? -thread->object : thread->object, __ATOMIC_RELAXED);
}

// A loop may create an epoll instance for each of its waits (Python's `with selectors.DefaultSelector()` in the loop): while its handlers run there is
// no instance, and the next one may have another number. So this counts consecutive instances that were each used for one wait.
static void count_made(loop_thread *thread, int32_t object) {
    uint64_t waits = clb_beacon_word(thread->beacon) >> 8;
    // A wait advances the beacon by two words. (Instances that a handler creates for its own waits do not count.)
    int is_loops = thread->made == thread->object && waits - thread->made_waits == 2;
    thread->made_for_one = is_loops ? thread->made_for_one + 1 : 0;
    thread->made_waits = waits;
    thread->made = object;
    publish_object(thread);
}

int loop_is_made_anew(loop_thread *thread, int32_t object, uint64_t address, uint64_t sp) {
    if (object != thread->made || thread->made_for_one < LOOP_FEW_WAITS || !loop_is_at(&thread->place, address, sp)) return 0;
    thread->object = object;
    publish_object(thread);
    return 1;
}

// An instance that was used and closed during start-up does not belong to a loop: waits before the next one do not count. (An instance that another
// thread creates for this thread is taken for the earlier one.)
void loop_begin_object(int32_t object) {
    loop_record_instance(object);
    loop_thread *thread = &loop_self;
    if (thread->process == 0 || !loop_is_same_process(thread)) return;
    if (thread->outer_role != LOOP_AROUND && thread->outer_object == object) thread->outer.sp = 0;
    uint32_t state = clb_claim_state(thread->claim);
    if (state == CLB_SLOT_LIVE && thread->object != LOOP_OTHER_OBJECT) count_made(thread, object);
    if (state != CLB_SLOT_PROVISIONAL || thread->other_object != object) return;
    loop_withdraw(thread);
    thread->other_waits = 0;
}
