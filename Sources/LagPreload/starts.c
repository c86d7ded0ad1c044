// Starts that look like a loop: a program polls the pipes of a child, or asks a name server, and then begins its loop on an epoll instance.
#include "loop.h"

#include <errno.h>

enum { INSTANCES = 1024 };

// The order in which the process has created its instances, by object; 0: not known.
static uint32_t orders[INSTANCES];
static uint32_t last_order;

void loop_record_instance(int32_t object) {
    if (object <= 0 || object >= INSTANCES) return;
    __atomic_store_n(&orders[object], __atomic_add_fetch(&last_order, 1, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static int is_older(int32_t object, int32_t other) {
    if (object <= 0 || object >= INSTANCES || other <= 0 || other >= INSTANCES) return 0;
    uint32_t order = __atomic_load_n(&orders[object], __ATOMIC_RELAXED), others = __atomic_load_n(&orders[other], __ATOMIC_RELAXED);
    return order != 0 && others != 0 && order < others;
}

// Whether all waits of the loop may have been a start's. Of two instances the older one is the program's: what waits for a child within a call
// (`execSync` of node) creates its own.
static int may_be_start(const loop_thread *thread, int32_t object) {
    if (thread->outer.sp != 0 || thread->is_serving) return 0;
    if (thread->object != LOOP_OTHER_OBJECT && !is_older(object, thread->object)) return 0;
    uint64_t last_ns = __atomic_load_n(&thread->beacon->callout_ns, __ATOMIC_RELAXED);
    return (int64_t)(last_ns - thread->other_ns) < (int64_t)LOOP_START_MS * 1000000;
}

// The candidate gets its own claim: the same stalls are found as without the start. If a young loop's handler waits on an instance, that stall is
// lost, which happens as often as the thread may have provisional claims.
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
    thread->start = thread->place;
    thread->start_object = thread->object;
    thread->start_rank = thread->rank;
    thread->start_ns = thread->other_ns;
    thread->place.sp = 0;
    thread->object = LOOP_OTHER_OBJECT;
    loop_begin_candidate(thread, object, rank, address, sp);
    thread->other_ns = clb_now_ns();
    thread->row = (loop_row){.last_ns = thread->other_ns};
    return 1;
}

int loop_is_back_at_start(const loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    return thread->start.sp != 0 && object == thread->start_object
        && (object != LOOP_OTHER_OBJECT || loop_is_made_at(&thread->start, thread->start_rank, rank, address, sp)
            || loop_is_called_otherwise(&thread->start, object, address, sp));
}

loop_thread *loop_return_to_start(loop_thread *thread, int32_t object, int rank, uint64_t address, uint64_t sp) {
    int saved = errno;
    if (thread->claim != 0) loop_withdraw(thread);
    thread->start.sp = 0;
    thread->other_ns = thread->start_ns;
    // Another call of its function may wait for fewer.
    if (rank < thread->start_rank) address = thread->start.address;
    if (rank < thread->start_rank) rank = thread->start_rank;
    loop_thread *result = loop_claim_slot(thread, CLB_SLOT_LIVE, object, rank, address, sp);
    errno = saved;
    return result;
}
