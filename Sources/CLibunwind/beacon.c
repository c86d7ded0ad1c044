#include "clu_beacon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clu_linux.h"

static int is_rest(uint8_t activity) {
    switch (activity) {
        case CLU_ACTIVITY_NOT_RUNNING:
        case CLU_ACTIVITY_WAITING:
        case CLU_ACTIVITY_FINISHED:
        case CLU_ACTIVITY_EXPECTED: return 1;
        default: return 0;
    }
}

void clu_beacon_answer(clu_beacon *beacon, uint8_t activity) {
    // A loop that is armed for its rest alone comes here with every activity until then.
    uint32_t answers = is_rest(activity) ? CLU_ARMED_ANY | CLU_ARMED_REST : CLU_ARMED_ANY;
    if ((__atomic_fetch_and(&beacon->armed, ~answers, __ATOMIC_SEQ_CST) & answers) == 0) return;
    int saved = errno;
    uint64_t now = clu_now_ns();
    __atomic_store_n(&beacon->answered_ns, now, __ATOMIC_RELEASE);
    clu_waker *waker = __atomic_load_n(&beacon->waker, __ATOMIC_RELAXED);
    uint64_t none = 0;
    __atomic_compare_exchange_n(&waker->posted_ns, &none, now, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    sem_post(&waker->semaphore);
    errno = saved;
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

void clu_beacon_destroy(clu_beacon *beacon) { free(beacon); }
