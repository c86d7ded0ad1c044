#include "clu_beacon.h"

#include <stdlib.h>
#include <string.h>

#include "clu_linux.h"
#include "clu_mirror.h"

int clu_beacon_read_note(const clu_beacon *beacon, uint16_t number, clu_beacon_note *note) {
    const clu_beacon_note *source = &beacon->notes[number % CLU_BEACON_NOTES];
    note->since_ns = __atomic_load_n(&source->since_ns, __ATOMIC_RELAXED);
    note->until_ns = __atomic_load_n(&source->until_ns, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    // The loop may be writing its successor in this place, which counts only afterwards.
    return (uint16_t)(__atomic_load_n(&beacon->noted, __ATOMIC_RELAXED) - number) < CLU_BEACON_NOTES - 1;
}

void clu_beacon_limit(clu_beacon *beacon, uint64_t limit_ns) {
    uint64_t present = __atomic_load_n(&beacon->limit_ns, __ATOMIC_RELAXED);
    while (present == 0 || limit_ns < present) {
        if (__atomic_compare_exchange_n(&beacon->limit_ns, &present, limit_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    }
}

clu_waker *clu_waker_create(void) {
    clu_waker *waker = calloc(1, sizeof(clu_waker));
    if (waker != NULL) sem_init(&waker->semaphore, 0, 0);
    return waker;
}

void clu_waker_destroy(clu_waker *waker) {
    sem_destroy(&waker->semaphore);
    free(waker);
}

void clu_waker_post(clu_waker *waker) { sem_post(&waker->semaphore); }

int clu_waker_wait(clu_waker *waker, uint64_t deadline_ns) { return clu_sem_wait_until(&waker->semaphore, deadline_ns); }

uint64_t clu_waker_drain(clu_waker *waker) {
    while (sem_trywait(&waker->semaphore) == 0) continue;
    return __atomic_exchange_n(&waker->posted_ns, 0, __ATOMIC_ACQUIRE);
}

clu_beacon *clu_beacon_create(void) {
    clu_beacon *beacon = aligned_alloc(64, sizeof(clu_beacon));
    if (beacon != NULL) memset(beacon, 0, sizeof(*beacon));
    return beacon;
}

void clu_beacon_destroy(clu_beacon *beacon) {
    clu_mirror_forget(beacon);
    free(beacon);
}
