// The activity beacon: what a run loop tells its watchdog, in one cache line.
//
// Threads. The loop's own thread is the only writer of `word`, `callout_ns`, `woke_ns`, `mode` and
// `answered_ns`. The watchdog writes `armed` (sets it) and `semaphore` (once, before it arms); the loop
// clears `armed`. Everybody may read. A reader that finds the same `word` before and after reading the
// times has times that belong to that word or to a younger one, never to an older one: a duration
// computed from them can be too short for a moment, never too long. (clu_beacon_mark leaves the times alone: a loop tells
// by clu_beacon_begin or clu_beacon_wake when a stretch of work begins, and by mark only what follows at once or is no work.)
//
// Ordering. `word` is published with a release store. `armed` is loaded relaxed: a loop that is working
// may miss an arming for some nanoseconds, which costs nothing because the watchdog looks again within
// an interval. Only leaving the wait needs the strong order, because there the watchdog may be parked
// without a timeout; a system call has just been made, so the fence is not felt.
#ifndef CLU_BEACON_H
#define CLU_BEACON_H

#include <stdint.h>
#include <semaphore.h>
#include <time.h>

// What the loop is doing. The six activities of the seeds, plus the states around them.
enum {
    CLU_ACTIVITY_NOT_RUNNING = 0,
    CLU_ACTIVITY_ENTRY = 1,
    CLU_ACTIVITY_BEFORE_TIMERS = 2,
    CLU_ACTIVITY_BEFORE_SOURCES = 3,
    CLU_ACTIVITY_BEFORE_WAITING = 4,  // its observers run: still work
    CLU_ACTIVITY_WAITING = 5,         // asleep in the kernel: idle
    CLU_ACTIVITY_AFTER_WAITING = 6,
    CLU_ACTIVITY_EXIT = 7,
    CLU_ACTIVITY_FINISHED = 8,        // the loop ended with its thread; the thread id means nothing now
};

typedef struct clu_beacon {
    uint64_t word;         // sequence << 8 | activity
    uint64_t callout_ns;   // CLOCK_MONOTONIC at the beginning of the present stretch of work
    uint64_t woke_ns;      // CLOCK_MONOTONIC when the loop last left the wait
    uint64_t answered_ns;  // CLOCK_MONOTONIC when the loop last answered an arming
    uint32_t armed;
    uint32_t mode;         // number of the mode the loop runs in (0 = none)
    sem_t *semaphore;      // the watchdog's; never freed
    uint64_t reserved[2];  // to the end of the cache line
} clu_beacon;  // 64-byte aligned by clu_beacon_create: Swift does not import over-aligned types

_Static_assert(sizeof(clu_beacon) == 64, "a beacon is one cache line");

static inline uint64_t clu_now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// Answers an arming: clears it, notes the time, posts the watchdog's semaphore. The slow path.
void clu_beacon_answer(clu_beacon *beacon);

// One activity: a plain release store and one relaxed load.
static inline void clu_beacon_mark(clu_beacon *beacon, uint8_t activity) {
    uint64_t sequence = (__atomic_load_n(&beacon->word, __ATOMIC_RELAXED) >> 8) + 1;
    __atomic_store_n(&beacon->word, sequence << 8 | activity, __ATOMIC_RELEASE);
    if (__builtin_expect(__atomic_load_n(&beacon->armed, __ATOMIC_RELAXED) != 0, 0)) clu_beacon_answer(beacon);
}

// A new stretch of work (a callout) begins at `now_ns`, within the given activity.
static inline void clu_beacon_begin(clu_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    __atomic_store_n(&beacon->callout_ns, now_ns, __ATOMIC_RELAXED);
    clu_beacon_mark(beacon, activity);
}

// The loop left the wait (or began to run) at `now_ns`: the strongly ordered one, it un-parks the watchdog.
static inline void clu_beacon_wake(clu_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    __atomic_store_n(&beacon->woke_ns, now_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&beacon->callout_ns, now_ns, __ATOMIC_RELAXED);
    uint64_t sequence = (__atomic_load_n(&beacon->word, __ATOMIC_RELAXED) >> 8) + 1;
    __atomic_store_n(&beacon->word, sequence << 8 | activity, __ATOMIC_SEQ_CST);
    if (__builtin_expect(__atomic_load_n(&beacon->armed, __ATOMIC_SEQ_CST) != 0, 0)) clu_beacon_answer(beacon);
}

static inline void clu_beacon_set_mode(clu_beacon *beacon, uint32_t mode) {
    __atomic_store_n(&beacon->mode, mode, __ATOMIC_RELAXED);
}

// The watchdog's side.
static inline void clu_beacon_arm(clu_beacon *beacon, sem_t *semaphore) {
    __atomic_store_n(&beacon->semaphore, semaphore, __ATOMIC_RELAXED);
    __atomic_store_n(&beacon->armed, 1u, __ATOMIC_SEQ_CST);
}
static inline void clu_beacon_disarm(clu_beacon *beacon) {
    __atomic_store_n(&beacon->armed, 0u, __ATOMIC_SEQ_CST);
}
// Asks for the beacon's cache line; harmless with any address, also of a beacon that is gone.
static inline void clu_beacon_prefetch(const clu_beacon *beacon) { __builtin_prefetch(beacon); }
static inline uint64_t clu_beacon_word(const clu_beacon *beacon) {
    return __atomic_load_n(&beacon->word, __ATOMIC_SEQ_CST);
}
static inline uint64_t clu_beacon_callout_ns(const clu_beacon *beacon) {
    return __atomic_load_n(&beacon->callout_ns, __ATOMIC_ACQUIRE);
}
static inline uint64_t clu_beacon_woke_ns(const clu_beacon *beacon) {
    return __atomic_load_n(&beacon->woke_ns, __ATOMIC_ACQUIRE);
}
static inline uint64_t clu_beacon_answered_ns(const clu_beacon *beacon) {
    return __atomic_load_n(&beacon->answered_ns, __ATOMIC_ACQUIRE);
}
static inline uint32_t clu_beacon_mode(const clu_beacon *beacon) {
    return __atomic_load_n(&beacon->mode, __ATOMIC_RELAXED);
}

// Heap memory on a cache line of its own; NULL when there is none.
clu_beacon *clu_beacon_create(void);
void clu_beacon_destroy(clu_beacon *beacon);

#endif
