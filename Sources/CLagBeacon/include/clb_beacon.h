// The activity beacon: what a run loop publishes to its watchdog, in one cache line, and a second one for long
// stretches of work.
//
// Threads. The loop's own thread is the only writer of `word`, `callout_ns`, `woke_ns`, `mode` (`turn_events`),
// `answered_ns`, `stretch_count` and `stretches`; `pong_ns` is written by the thread that serves the loop. The
// watchdog writes `armed` (sets bits of it) and `waker` (once, before it arms); the loop clears bits of `armed`. A
// thread that begins to watch lowers `limit_ns`, and may give the beacon a mirror (clb_mirror.h), which the loop's
// own thread writes as well. Any thread may read. If a reader finds the same `word` before and after reading the
// times, the times belong to that word or to a later one, never to an earlier one: a duration computed from them can
// be too short for a moment, never too long. (clb_beacon_publish does not change the times: a loop uses
// clb_beacon_begin or clb_beacon_wake when a stretch of work begins, and clb_beacon_publish only for what follows at
// once or is not work.)
//
// Ordering. `word` is published with a release store. `armed` is loaded relaxed: a working loop may miss an arming
// for some nanoseconds, which costs nothing because the watchdog scans again within an interval. Only leaving the
// wait needs the strong order, because there the watchdog may be parked without a timeout; a system call has just
// been made, so the cost of the fence does not matter.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <semaphore.h>
#include <time.h>

// Every header of glibc defines it (features.h). This is the first header of this package that is compiled: a build
// for another C library, such as that of the static Linux SDK, or for another system fails at this line first.
#if !defined(__linux__) || !defined(__GLIBC__)
#error "LagMonitor finds stalls only on Linux with glibc: it loads libunwind with dlopen, which a static program cannot. Set LAGMONITOR_UNSUPPORTED=1 in the environment of the build for a package that builds and does nothing."
#endif

#pragma GCC visibility push(hidden)

// What the loop is doing. The six activities of CFRunLoop, plus the states around them.
enum {
    CLB_ACTIVITY_NOT_RUNNING = 0,
    CLB_ACTIVITY_ENTRY = 1,
    CLB_ACTIVITY_BEFORE_TIMERS = 2,
    CLB_ACTIVITY_BEFORE_SOURCES = 3,
    CLB_ACTIVITY_BEFORE_WAITING = 4,  // its observers run: still work
    CLB_ACTIVITY_WAITING = 5,         // asleep in the kernel: idle
    CLB_ACTIVITY_AFTER_WAITING = 6,
    CLB_ACTIVITY_EXIT = 7,
    CLB_ACTIVITY_FINISHED = 8,        // the loop ended with its thread; the thread id is no longer valid
    CLB_ACTIVITY_EXPECTED = 9,        // inside a scope in which blocking is expected: counts as idle
};

// What an armed loop answers to: its next activity of any kind, or its next idle time.
enum {
    CLB_ARMED_ANY = 1,
    CLB_ARMED_REST = 2,
};

// The other bits of `armed`: whether the beacon has a mirror in a shared loop table, and the number of its link in
// this process (clb_mirror.h). They are here so that a beacon without a mirror costs nothing more: the one branch of
// every activity is not taken.
enum {
    CLB_ARMED_ALL = CLB_ARMED_ANY | CLB_ARMED_REST,
    CLB_BEACON_MIRRORED = 4,
    CLB_BEACON_LINK_SHIFT = 8,
};

// What an armed beacon posts to: a semaphore that tolerates any content of its memory. Never freed once a beacon
// points to it.
//
// It may be in memory that other processes write. glibc's semaphore kills the process (`abort`) if the kernel refuses
// its futex call, and takes the kind of the call from the memory. Here both are constants in the code, and errors are
// waited out.
typedef struct clb_waker {
    uint32_t posts;      // the futex word: posts that were not taken
    uint32_t waiters;    // threads that wait; not used if other processes can write
    uint64_t posted_ns;  // CLOCK_MONOTONIC of the first answer since it was last taken; 0: none
} clb_waker;

// A stretch of work that lasted as long as a stall: CLOCK_MONOTONIC at both its ends.
typedef struct clb_beacon_stretch {
    uint64_t since_ns;
    uint64_t until_ns;
} clb_beacon_stretch;

enum { CLB_BEACON_STRETCHES = 4 };

typedef struct clb_beacon {
    uint64_t word;         // sequence << 8 | activity
    uint64_t callout_ns;   // CLOCK_MONOTONIC at the beginning of the present stretch of work
    uint64_t woke_ns;      // CLOCK_MONOTONIC when the loop's idle time last ended
    uint64_t answered_ns;  // CLOCK_MONOTONIC when the loop last answered an arming
    uint16_t armed;
    uint16_t stretch_count;        // how many stretches were recorded; wraps around
    union {
        uint32_t mode;         // number of the mode the loop runs in (0 = none)
        uint32_t turn_events;  // for a loop known by its waits: events that the last one returned (0 = none, or not known)
    };
    clb_waker *waker;      // the watchdog's; never freed
    uint64_t pong_ns;      // CLOCK_MONOTONIC when the loop last answered a ping
    uint64_t limit_ns;     // a stretch of work of this length is recorded; 0: none
    clb_beacon_stretch stretches[CLB_BEACON_STRETCHES];  // number n is at n % CLB_BEACON_STRETCHES
} clb_beacon;  // 64-byte aligned by clb_beacon_create: Swift does not import over-aligned types

_Static_assert(offsetof(clb_beacon, stretches) == 64, "every activity and every scan touch only one cache line");
_Static_assert(sizeof(clb_beacon) == 128, "a beacon is two cache lines");

static inline uint64_t clb_now_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// CLOCK_REALTIME: nanoseconds since 1970.
static inline int64_t clb_realtime_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + (int64_t)ts.tv_nsec;
}

// Whether a loop in this activity keeps no work waiting.
static inline int clb_activity_is_rest(uint8_t activity) {
    return activity == CLB_ACTIVITY_NOT_RUNNING || activity == CLB_ACTIVITY_WAITING || activity == CLB_ACTIVITY_FINISHED
        || activity == CLB_ACTIVITY_EXPECTED;
}

// Answers an arming to which this activity responds: clears it, records the time, wakes the watchdog. The slow path.
void clb_beacon_answer(clb_beacon *beacon, uint8_t activity);

// Passes this activity on to the mirror, if there is one, and to the watchdog that armed the beacon. The slow path.
void clb_beacon_notify(clb_beacon *beacon, uint8_t activity);

// One activity: a plain release store and one relaxed load; returns whether the beacon is armed or mirrored.
static inline int clb_beacon_store(clb_beacon *beacon, uint8_t activity) {
    uint64_t sequence = (__atomic_load_n(&beacon->word, __ATOMIC_RELAXED) >> 8) + 1;
    __atomic_store_n(&beacon->word, sequence << 8 | activity, __ATOMIC_RELEASE);
    return __builtin_expect(__atomic_load_n(&beacon->armed, __ATOMIC_RELAXED) != 0, 0);
}
static inline void clb_beacon_publish(clb_beacon *beacon, uint8_t activity) {
    if (clb_beacon_store(beacon, activity)) clb_beacon_notify(beacon, activity);
}

// Records that the stretch of work since `since_ns` was as long as a stall. The slow path.
void clb_beacon_record_stretch(clb_beacon *beacon, uint64_t since_ns, uint64_t now_ns);

// A new stretch of work (a callout) begins at `now_ns`, within the given activity. If the one before was as long as a
// stall, the loop records that itself: so a watchdog that got no processor, perhaps because the machine is busy,
// still sees it.
static inline void clb_beacon_begin(clb_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    uint64_t since_ns = __atomic_load_n(&beacon->callout_ns, __ATOMIC_RELAXED);
    uint64_t limit_ns = __atomic_load_n(&beacon->limit_ns, __ATOMIC_RELAXED);
    // A limit of 0 wraps around, and nothing is that long; a clock that went back wraps around too, and
    // clb_beacon_record_stretch checks for it.
    if (__builtin_expect(now_ns - since_ns > limit_ns - 1, 0)) clb_beacon_record_stretch(beacon, since_ns, now_ns);
    __atomic_store_n(&beacon->callout_ns, now_ns, __ATOMIC_RELAXED);
    clb_beacon_publish(beacon, activity);
}

// The same at the end of idle time, strongly ordered: it un-parks the watchdog, which may have seen the loop idle.
static inline int clb_beacon_store_strongly(clb_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    __atomic_store_n(&beacon->callout_ns, now_ns, __ATOMIC_RELAXED);
    uint64_t sequence = (__atomic_load_n(&beacon->word, __ATOMIC_RELAXED) >> 8) + 1;
    __atomic_store_n(&beacon->word, sequence << 8 | activity, __ATOMIC_SEQ_CST);
    return __builtin_expect(__atomic_load_n(&beacon->armed, __ATOMIC_SEQ_CST) != 0, 0);
}

// The loop runs again at `now_ns` after a moment that was too short to count as idle.
static inline void clb_beacon_resume(clb_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    if (clb_beacon_store_strongly(beacon, activity, now_ns)) clb_beacon_notify(beacon, activity);
}

// The loop's idle time ended (it left the wait, or began to run) at `now_ns`.
static inline void clb_beacon_wake(clb_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    __atomic_store_n(&beacon->woke_ns, now_ns, __ATOMIC_RELAXED);
    clb_beacon_resume(beacon, activity, now_ns);
}

// The same two for a beacon that is itself in the shared loop table. It has no mirror: other processes could have set
// the bits of `armed` that would refer to one.
static inline void clb_beacon_publish_shared(clb_beacon *beacon, uint8_t activity) {
    if (clb_beacon_store(beacon, activity)) clb_beacon_answer(beacon, activity);
}
static inline void clb_beacon_wake_shared(clb_beacon *beacon, uint8_t activity, uint64_t now_ns) {
    __atomic_store_n(&beacon->woke_ns, now_ns, __ATOMIC_RELAXED);
    if (clb_beacon_store_strongly(beacon, activity, now_ns)) clb_beacon_answer(beacon, activity);
}

static inline void clb_beacon_set_mode(clb_beacon *beacon, uint32_t mode) {
    __atomic_store_n(&beacon->mode, mode, __ATOMIC_RELAXED);
}

static inline void clb_beacon_set_turn_events(clb_beacon *beacon, uint32_t events) {
    __atomic_store_n(&beacon->turn_events, events, __ATOMIC_RELAXED);
}

// The loop reached a ping. Any thread, for loops that several threads serve: the latest answer counts, so that a late
// store does not hide a later answer.
static inline void clb_beacon_pong(clb_beacon *beacon, uint64_t now_ns) {
    uint64_t last = __atomic_load_n(&beacon->pong_ns, __ATOMIC_RELAXED);
    while (last < now_ns
           && !__atomic_compare_exchange_n(&beacon->pong_ns, &last, now_ns, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {}
}

// The watchdog's side. `armed` is CLB_ARMED_ANY, CLB_ARMED_REST or both; armings add up.
static inline void clb_beacon_arm(clb_beacon *beacon, clb_waker *waker, uint32_t armed) {
    __atomic_store_n(&beacon->waker, waker, __ATOMIC_RELAXED);
    __atomic_fetch_or(&beacon->armed, (uint16_t)armed, __ATOMIC_SEQ_CST);
}
// The same for a beacon in memory shared with its loop's process, which knows its waker (clb_loop_table.h): no
// address is written.
static inline void clb_beacon_rearm(clb_beacon *beacon, uint32_t armed) {
    __atomic_fetch_or(&beacon->armed, (uint16_t)armed, __ATOMIC_SEQ_CST);
}
// Stretches of this length or more are recorded from now on; of several requests the lowest counts. Any thread.
void clb_beacon_limit(clb_beacon *beacon, uint64_t limit_ns);

// That length; 0: nothing is recorded.
static inline uint64_t clb_beacon_recorded_ns(const clb_beacon *beacon) { return __atomic_load_n(&beacon->limit_ns, __ATOMIC_RELAXED); }
static inline uint16_t clb_beacon_stretch_count(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->stretch_count, __ATOMIC_ACQUIRE);
}
// The stretch with that number (the first is 1); 0 if it has been overwritten.
int clb_beacon_read_stretch(const clb_beacon *beacon, uint16_t number, clb_beacon_stretch *stretch);
static inline void clb_beacon_disarm(clb_beacon *beacon) {
    __atomic_fetch_and(&beacon->armed, (uint16_t)~CLB_ARMED_ALL, __ATOMIC_SEQ_CST);
}
// Prefetches the beacon's cache line; harmless with any address, even of a beacon that is gone.
static inline void clb_beacon_prefetch(const clb_beacon *beacon) { __builtin_prefetch(beacon); }
static inline uint64_t clb_beacon_word(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->word, __ATOMIC_SEQ_CST);
}
static inline uint64_t clb_beacon_callout_ns(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->callout_ns, __ATOMIC_ACQUIRE);
}
static inline uint64_t clb_beacon_woke_ns(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->woke_ns, __ATOMIC_ACQUIRE);
}
static inline uint64_t clb_beacon_answered_ns(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->answered_ns, __ATOMIC_ACQUIRE);
}
static inline uint64_t clb_beacon_pong_ns(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->pong_ns, __ATOMIC_ACQUIRE);
}
static inline uint32_t clb_beacon_mode(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->mode, __ATOMIC_RELAXED);
}
static inline uint32_t clb_beacon_turn_events(const clb_beacon *beacon) {
    return __atomic_load_n(&beacon->turn_events, __ATOMIC_RELAXED);
}

// NULL if there is no memory. Only a waker with which no beacon was armed may be destroyed.
clb_waker *clb_waker_create(void);
void clb_waker_destroy(clb_waker *waker);
// Any thread; async-signal-safe; keeps errno. Does not change posted_ns, which belongs to beacons.
void clb_waker_post(clb_waker *waker);
// The same for a waker in memory that other processes have as well: wakes a waiter in any of them.
void clb_waker_post_shared(clb_waker *waker);
// Records the time of an answer, unless there is one: for forwarding another waker's posts. Any thread.
static inline void clb_waker_record_answer(clb_waker *waker, uint64_t answered_ns) {
    uint64_t none = 0;
    __atomic_compare_exchange_n(&waker->posted_ns, &none, answered_ns, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}
// Waits until `deadline_ns` of CLOCK_MONOTONIC; UINT64_MAX: no deadline. Returns 1 if it was posted, 0 on time-out.
// Continues after interruptions.
int clb_sem_wait_until(sem_t *semaphore, uint64_t deadline_ns);
// Waits until it is posted (1) or until `deadline_ns` on CLOCK_MONOTONIC (0); UINT64_MAX: no deadline. Takes one
// post.
int clb_waker_wait(clb_waker *waker, uint64_t deadline_ns);
// The same if other processes may post, or write anything: then it may end early, or be posted without reason.
int clb_waker_wait_shared(clb_waker *waker, uint64_t deadline_ns);
// Takes all pending posts, and the time of the first answer among them: 0 if there was none.
uint64_t clb_waker_drain(clb_waker *waker);

// Heap memory on separate cache lines; NULL if there is no memory.
clb_beacon *clb_beacon_create(void);
// Its mirror ends with it. Do not call it while a thread may still publish to it.
void clb_beacon_destroy(clb_beacon *beacon);

#pragma GCC visibility pop
