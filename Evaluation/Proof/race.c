// Runs the real fast path, slow path and waker of CLagBeacon under ThreadSanitizer: a loop, a watchdog that parks without a deadline, and a stop.
// Exits with 66 if ThreadSanitizer reports a race, with 1 if a wake-up is lost. SEEDED_RACE: the watchdog reads one field with a plain load.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "clb_beacon.h"

enum { ROUNDS = 20000, LOST_SECONDS = 20 };

static clb_beacon *beacon;
static clb_waker *waker;
static int stopping, has_stopped;
static uint64_t seen, notes, scans;

static uint64_t now(void) { return clb_now_ns(); }

// A stretch of work that lasts until the watchdog has seen it, which reveals a lost wake-up.
static void hang(void) {
    uint64_t word = clb_beacon_word(beacon), limit = now() + LOST_SECONDS * UINT64_C(1000000000);
    while (__atomic_load_n(&seen, __ATOMIC_RELAXED) != word && !__atomic_load_n(&has_stopped, __ATOMIC_RELAXED)) {
        if (now() < limit) continue;
        fprintf(stderr, "lost wake-up at word %llx\n", (unsigned long long)word);
        exit(1);
    }
}

static void *loop(void *unused) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        clb_beacon_wake(beacon, CLB_ACTIVITY_AFTER_WAITING, now());
        if (round % 4 != 0) hang();
        clb_beacon_set_mode(beacon, round % 3);
        for (unsigned callout = 0; callout < round % 7; callout++) clb_beacon_begin(beacon, CLB_ACTIVITY_BEFORE_SOURCES, now());
        clb_beacon_pong(beacon, now());
        clb_beacon_begin(beacon, CLB_ACTIVITY_WAITING, now());
    }
    clb_beacon_wake(beacon, CLB_ACTIVITY_FINISHED, now());
    return unused;
}

static void *watchdog(void *unused) {
    uint16_t count = clb_beacon_stretch_count(beacon);
    uint64_t last = UINT64_MAX, deadline = 0;
    while (!__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) {
        clb_waker_wait(waker, deadline);
        if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) break;
        clb_waker_drain(waker);
        if (__atomic_load_n(&stopping, __ATOMIC_ACQUIRE)) break;
        uint64_t word = clb_beacon_word(beacon);
        int has_changed = word != last, is_rest = clb_activity_is_rest((uint8_t)word);
        last = word;
        clb_beacon_callout_ns(beacon), clb_beacon_answered_ns(beacon), clb_beacon_woke_ns(beacon), clb_beacon_pong_ns(beacon), clb_beacon_mode(beacon);
        clb_beacon_stretch stretch;
        for (uint16_t present = clb_beacon_stretch_count(beacon); count != present;) {
            count++;
            if (!clb_beacon_read_stretch(beacon, count, &stretch)) continue;
            if (stretch.until_ns < stretch.since_ns) abort();
            notes++;
        }
#ifdef SEEDED_RACE
        notes += beacon->callout_ns & 1;
#endif
        __atomic_store_n(&seen, word, __ATOMIC_RELAXED);
        scans++;
        deadline = now() + 100000;
        if (has_changed || !is_rest) continue;
        clb_beacon_arm(beacon, waker, CLB_ARMED_ANY);
        if (clb_beacon_word(beacon) == last) deadline = UINT64_MAX;
    }
    clb_beacon_disarm(beacon);
    __atomic_store_n(&has_stopped, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(void) {
    beacon = clb_beacon_create();
    waker = clb_waker_create();
    // About half of the stretches exceed this limit.
    clb_beacon_limit(beacon, 2000);
    for (int run = 0; run < 4; run++) {
        pthread_t threads[2];
        __atomic_store_n(&stopping, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&has_stopped, 0, __ATOMIC_RELAXED);
        clb_waker_drain(waker);
        if (pthread_create(&threads[0], NULL, loop, NULL) != 0 || pthread_create(&threads[1], NULL, watchdog, NULL) != 0) return 69;
        // In the first runs the watchdog ends before the loop, which posts again afterwards.
        if (run < 2) nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
        else pthread_join(threads[0], NULL);
        __atomic_store_n(&stopping, 1, __ATOMIC_RELEASE);
        clb_waker_post(waker);
        pthread_join(threads[1], NULL);
        if (run < 2) pthread_join(threads[0], NULL);
    }
    clb_beacon_destroy(beacon);
    printf("%llu\n", (unsigned long long)scans);
    return scans > 0 && notes > 0 ? 0 : 1;
}
