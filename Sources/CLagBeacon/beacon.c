#define _GNU_SOURCE
#include "clb_beacon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clb_mirror.h"

int clb_beacon_read_stretch(const clb_beacon *beacon, uint16_t number, clb_beacon_stretch *stretch) {
    const clb_beacon_stretch *source = &beacon->stretches[number % CLB_BEACON_STRETCHES];
    stretch->since_ns = __atomic_load_n(&source->since_ns, __ATOMIC_RELAXED);
    stretch->until_ns = __atomic_load_n(&source->until_ns, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    // The loop may be writing its successor in this place, which counts only afterwards.
    return (uint16_t)(__atomic_load_n(&beacon->stretch_count, __ATOMIC_RELAXED) - number) < CLB_BEACON_STRETCHES - 1;
}

void clb_beacon_limit(clb_beacon *beacon, uint64_t limit_ns) {
    uint64_t present = __atomic_load_n(&beacon->limit_ns, __ATOMIC_RELAXED);
    while (present == 0 || limit_ns < present) {
        if (__atomic_compare_exchange_n(&beacon->limit_ns, &present, limit_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    }
}

int clb_sem_wait_until(sem_t *semaphore, uint64_t deadline_ns) {
    if (deadline_ns == UINT64_MAX) {
        while (sem_wait(semaphore) != 0) {
            if (errno != EINTR) return 0;
        }
        return 1;
    }
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000u),
        .tv_nsec = (long)(deadline_ns % 1000000000u),
    };
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline) != 0) {
        if (errno != EINTR) return 0;
    }
    return 1;
}

clb_waker *clb_waker_create(void) {
    clb_waker *waker = calloc(1, sizeof(clb_waker));
    if (waker != NULL) sem_init(&waker->semaphore, 0, 0);
    return waker;
}

void clb_waker_destroy(clb_waker *waker) {
    sem_destroy(&waker->semaphore);
    free(waker);
}

void clb_waker_post(clb_waker *waker) { sem_post(&waker->semaphore); }

int clb_waker_wait(clb_waker *waker, uint64_t deadline_ns) { return clb_sem_wait_until(&waker->semaphore, deadline_ns); }

uint64_t clb_waker_drain(clb_waker *waker) {
    while (sem_trywait(&waker->semaphore) == 0) continue;
    return __atomic_exchange_n(&waker->posted_ns, 0, __ATOMIC_ACQUIRE);
}

clb_beacon *clb_beacon_create(void) {
    clb_beacon *beacon = aligned_alloc(64, sizeof(clb_beacon));
    if (beacon != NULL) memset(beacon, 0, sizeof(*beacon));
    return beacon;
}

void clb_beacon_destroy(clb_beacon *beacon) {
    clb_mirror_forget(beacon);
    free(beacon);
}
