// How other threads reach a run loop: the pending work, and whether the loop has to be woken.
//
// Threads. Any thread sets bits of `work` and calls cll_wake_up. Only the loop's own thread takes the bits, takes the
// wake and goes to sleep.
//
// Ordering. A producer publishes its work, then exchanges `state` to PENDING. The loop takes PENDING before it checks
// for work, and goes from AWAKE to ASLEEP by compare-and-swap. All of these are read-modify-writes of one location.
// So either the loop sees the producer's work, or its compare-and-swap fails, or the producer sees ASLEEP and makes
// the one system call. Further wakes of the same sleep see PENDING and make none.
#pragma once

#include <stdint.h>

enum {
    CLL_WAKE_AWAKE = 0,
    CLL_WAKE_PENDING = 1,
    CLL_WAKE_ASLEEP_FUTEX = 2,  // waits only for this word: no descriptor needed
    CLL_WAKE_ASLEEP_EPOLL = 3,  // also waits for descriptors
};

// Bits of `work`.
enum {
    CLL_WORK_SOURCES = 1,  // a manual source was signalled
    CLL_WORK_PORTS = 2,    // a port has a message
    CLL_WORK_BLOCKS = 4,   // work was submitted
    CLL_WORK_ITEMS = 8,    // items or modes changed
    CLL_WORK_PINGS = 16,   // a ping waits to be answered
    CLL_WORK_TIMERS = 32,  // a timer was added, removed, or set to another time
    CLL_WORK_WAITING = 64,  // the loop has taken work that waits behind the callout in progress
    // To be searched, whether or not there are any.
    CLL_WORK_SEARCH_SOURCES = 128,
    CLL_WORK_SEARCH_PORTS = 256,
    CLL_WORK_SEARCH_BLOCKS = 512,
};

typedef struct cll_wake {
    uint32_t state;
    uint32_t work;
    int32_t event_fd;          // -1 until the loop first waits for descriptors
    uint32_t expected_writes;  // how many wakes were answered by a write to it; only the loop's thread
    uint64_t asked_ns;         // CLOCK_MONOTONIC when the end of a sleep was last requested
    uint32_t reserved[10];
} cll_wake;  // 64-byte aligned by cll_wake_create

_Static_assert(sizeof(cll_wake) == 64, "one cache line");

// NULL if there is no memory.
cll_wake *cll_wake_create(void);
void cll_wake_destroy(cll_wake *wake);

// The system call that ends a sleep. The slow path of cll_wake_up.
void cll_wake_sleeper(cll_wake *wake, uint32_t old_state);

static inline void cll_wake_up(cll_wake *wake) {
    uint32_t old = __atomic_exchange_n(&wake->state, CLL_WAKE_PENDING, __ATOMIC_SEQ_CST);
    if (__builtin_expect(old >= CLL_WAKE_ASLEEP_FUTEX, 0)) cll_wake_sleeper(wake, old);
}

// Adds work without waking.
static inline void cll_wake_add_work(cll_wake *wake, uint32_t bits) {
    __atomic_fetch_or(&wake->work, bits, __ATOMIC_SEQ_CST);
}

// Whether the loop sleeps in the kernel now.
static inline int cll_wake_is_asleep(const cll_wake *wake) {
    return __atomic_load_n(&wake->state, __ATOMIC_SEQ_CST) >= CLL_WAKE_ASLEEP_FUTEX;
}

// Own thread only, from here on.

static inline int cll_wake_is_pending(const cll_wake *wake) {
    return __atomic_load_n(&wake->state, __ATOMIC_RELAXED) == CLL_WAKE_PENDING;
}

// Takes a pending wake. A wake that is not visible yet is not lost: the next attempt to sleep fails because of it.
static inline void cll_wake_take(cll_wake *wake) {
    if (cll_wake_is_pending(wake)) __atomic_exchange_n(&wake->state, CLL_WAKE_AWAKE, __ATOMIC_SEQ_CST);
}

static inline uint32_t cll_wake_work(const cll_wake *wake) { return __atomic_load_n(&wake->work, __ATOMIC_RELAXED); }

// Takes the given bits and returns which of them were set.
static inline uint32_t cll_wake_take_work(cll_wake *wake, uint32_t bits) {
    if ((cll_wake_work(wake) & bits) == 0) return 0;
    return __atomic_fetch_and(&wake->work, ~bits, __ATOMIC_SEQ_CST) & bits;
}

// When the end of the last sleep was requested, if a wake ended it: without the time that the thread took to return.
static inline uint64_t cll_wake_asked_ns(const cll_wake *wake) { return __atomic_load_n(&wake->asked_ns, __ATOMIC_RELAXED); }

// Polls for a wake for at most `budget_ns` without sleeping; returns whether one came.
int cll_wake_spin(cll_wake *wake, uint64_t now_ns, uint64_t budget_ns);

// Sleeps until woken or until `deadline_ns` of CLOCK_MONOTONIC (UINT64_MAX: none), waiting only for this word.
// Returns at once if a wake is pending; takes the wake.
void cll_wake_sleep(cll_wake *wake, uint64_t deadline_ns);

// A one-shot gate for one or more waiters: 0 closed, 1 open.
static inline int cll_gate_is_open(const uint32_t *gate) { return __atomic_load_n(gate, __ATOMIC_ACQUIRE) != 0; }
void cll_gate_open(uint32_t *gate);
void cll_gate_wait(uint32_t *gate);
