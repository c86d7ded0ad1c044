// Starts that look like a loop: a program polls the pipes of a child, or asks a name server, and then begins its loop on an epoll instance.
#include "loop.h"

#include <errno.h>

enum {
    INSTANCES = 1024,
    UNDECIDED_MS = 10000,  // after this time, it is decided which of two places is the loop's
};

// The order in which the process has created its instances, by object; 0: not known.
static uint32_t orders[INSTANCES];
static uint32_t last_order;

void loop_record_instance(int32_t object) {
    if (object <= 0 || object >= INSTANCES) return;
    __atomic_store_n(&orders[object], __atomic_add_fetch(&last_order, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

uint32_t loop_last_instance(void) { return __atomic_load_n(&last_order, __ATOMIC_RELAXED); }

int loop_is_created_by(int32_t object, uint32_t instance) {
    if (object <= 0 || object >= INSTANCES) return 0;
    uint32_t order = __atomic_load_n(&orders[object], __ATOMIC_RELAXED);
    return order != 0 && order <= instance;
}

static int is_older(int32_t object, int32_t other) {
    if (object <= 0 || object >= INSTANCES || other <= 0 || other >= INSTANCES) return 0;
    uint32_t order = __atomic_load_n(&orders[object], __ATOMIC_RELAXED), others = __atomic_load_n(&orders[other], __ATOMIC_RELAXED);
    return order != 0 && others != 0 && order < others;
}

// Whether all waits of the loop were within the time of a start's.
static int is_young(const loop_thread *thread) {
    uint64_t last_ns = __atomic_load_n(&thread->beacon->callout_ns, __ATOMIC_RELAXED);
    return (int64_t)(last_ns - thread->other_ns) < (int64_t)CLB_START_MS * 1000000;
}

// Whether all waits of the loop may have been a start's. Of two instances the older one is the program's: what waits for a child within a call
// (`execSync` of node) creates its own.
static int may_be_start(const loop_thread *thread, int32_t object) {
    if (thread->outer.sp != 0 || thread->is_serving) return 0;
    if (thread->object != LOOP_OTHER_OBJECT && !is_older(object, thread->object)) return 0;
    return is_young(thread);
}

// The candidate gets its own claim: the same stalls are found as without the start. If a young loop's handler waits on an instance, that stall is
// lost, once for each provisional claim that the thread may have. (The claim's time is that of the start's first wait: the loop is not younger if the
// thread returns there.)
int loop_leave_start(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose) {
    if (rank != LOOP_RANK_EPOLL || purpose != LOOP_FOR_EVENTS || !may_be_start(thread, object) || !loop_may_claim(thread, rank, purpose)) return 0;
    clb_beacon *beacon = thread->beacon;
    uint32_t index = thread->index;
    uint64_t claim = thread->claim;
    int saved = errno;
    loop_thread *claimed = loop_claim_slot(thread, CLB_SLOT_PROVISIONAL, object, rank, address, sp);
    if (claimed == NULL) loop_uncount_claim(thread, rank);
    else loop_end_claim(beacon, index, claim, CLB_SLOT_WITHDRAWN);
    errno = saved;
    if (claimed == NULL) return 0;
    thread->outer = thread->place;
    thread->outer_object = thread->object;
    thread->outer_role = LOOP_UNDECIDED;
    thread->outer_ns = thread->other_ns;
    thread->left_ns = clb_now_ns();
    thread->place.sp = 0;
    thread->object = LOOP_OTHER_OBJECT;
    loop_begin_candidate(thread, object, rank, address, sp);
    thread->other_ns = thread->left_ns;
    thread->row = (loop_row){.last_ns = thread->other_ns};
    return 1;
}

// Whether the other one of two places is more likely the loop's: the older instance, or the place further out in the stack. Calls of an interpreter's
// language are not on the stack: the instance.
static int is_outer_likelier(const loop_thread *thread) {
    int is_instance = thread->object != LOOP_OTHER_OBJECT, is_outer_instance = thread->outer_object != LOOP_OTHER_OBJECT;
    if (is_instance && is_outer_instance) return is_older(thread->outer_object, thread->object);
    return loop_is_interpreter ? is_outer_instance : thread->outer.sp > thread->place.sp;
}

static int is_undecided_for_long(const loop_thread *thread) {
    return clb_now_ns() - thread->left_ns >= (uint64_t)UNDECIDED_MS * 1000000;
}

static int is_at_outer(const loop_thread *thread, int32_t object, uint64_t address, uint64_t sp) {
    if (thread->outer.sp == 0 || object != thread->outer_object) return 0;
    return object != LOOP_OTHER_OBJECT || loop_is_at(&thread->outer, address, sp) || loop_is_called_otherwise(&thread->outer, object, address, sp);
}

// A place in poll or select before the first wait on an instance is a start's or the loop's, and then the instance is a handler's. The start and the
// handlers of a loop on an instance may wait at one place, too (CPython's `subprocess.run`: calls of its language are not on the C stack). So the
// thread rests at both, until it has waited at one of them, and not at the other, for longer than a start; or for UNDECIDED_MS, then the likelier one
// counts.
int loop_is_back(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int purpose) {
    if (!is_at_outer(thread, object, address, sp)) return 0;
    if (thread->outer_role != LOOP_UNDECIDED) return thread->outer_role == LOOP_AROUND;
    // There, a handler may also look for an answer without waiting, or sleep.
    if (object == LOOP_OTHER_OBJECT && (purpose == LOOP_FOR_NOTHING || rank == LOOP_RANK_SLEEP)) return 0;
    if (clb_claim_state(thread->claim) != CLB_SLOT_LIVE) return 1;
    if (is_young(thread) && (!is_undecided_for_long(thread) || is_outer_likelier(thread))) return 1;
    thread->outer_role = LOOP_PAST;
    return 0;
}

static loop_thread *swap_places(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp, int role) {
    loop_place place = thread->place;
    int32_t left = thread->object;
    loop_change_place(thread, object, rank, address, sp);
    thread->outer = place;
    thread->outer_object = left;
    thread->outer_role = role;
    if (role == LOOP_UNDECIDED) thread->other_ns = clb_now_ns();
    return thread;
}

loop_thread *loop_return(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    if (clb_claim_state(thread->claim) == CLB_SLOT_LIVE) {
        // The loop within a handler is over.
        if (thread->outer_role == LOOP_AROUND) return loop_change_place(thread, object, rank, address, sp);
        return swap_places(thread, object, rank, address, sp, is_undecided_for_long(thread) ? LOOP_PAST : LOOP_UNDECIDED);
    }
    int saved = errno;
    uint32_t index = thread->index;
    uint64_t candidate = thread->claim;
    thread->outer.sp = 0;
    thread->other_ns = thread->outer_ns;
    loop_thread *result = loop_claim_slot(thread, CLB_SLOT_LIVE, object, rank, address, sp);
    // The loop had a claim before: without a free slot, or under a filter, it gets the candidate's.
    if (candidate != 0 && result == NULL) result = loop_confirm(thread, object, rank, address, sp);
    else if (candidate != 0) clb_loop_table_end(loop_table, index, candidate);
    errno = saved;
    return result;
}

loop_thread *loop_follow(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    int is_of_two = thread->outer_role != LOOP_AROUND && is_at_outer(thread, object, address, sp);
    int is_undecided = is_of_two && !is_undecided_for_long(thread);
    swap_places(thread, object, rank, address, sp, is_undecided ? LOOP_UNDECIDED : LOOP_AROUND);
    if (is_of_two && !is_undecided && !is_outer_likelier(thread)) thread->outer_role = LOOP_PAST;
    return thread;
}
