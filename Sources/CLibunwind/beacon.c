#include "clu_beacon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clu_linux.h"

static int clu_is_rest(uint8_t activity) {
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
    uint16_t answers = clu_is_rest(activity) ? CLU_ARMED_ANY | CLU_ARMED_REST : CLU_ARMED_ANY;
    // A loop that rests strongly orders its word before this in clu_beacon_wake; one that works may be late by a look.
    if ((__atomic_load_n(&beacon->armed, __ATOMIC_SEQ_CST) & answers) == 0) return;
    if ((__atomic_fetch_and(&beacon->armed, (uint16_t)~answers, __ATOMIC_SEQ_CST) & answers) == 0) return;
    int saved = errno;
    uint64_t now = clu_now_ns();
    __atomic_store_n(&beacon->answered_ns, now, __ATOMIC_RELEASE);
    clu_waker *waker = __atomic_load_n(&beacon->waker, __ATOMIC_RELAXED);
    uint64_t none = 0;
    __atomic_compare_exchange_n(&waker->posted_ns, &none, now, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    sem_post(&waker->semaphore);
    errno = saved;
}

void clu_beacon_note_stretch(clu_beacon *beacon, uint64_t since_ns, uint64_t now_ns) {
    uint8_t activity = (uint8_t)__atomic_load_n(&beacon->word, __ATOMIC_RELAXED);
    if (now_ns < since_ns || clu_is_rest(activity)) return;
    uint16_t number = (uint16_t)(__atomic_load_n(&beacon->noted, __ATOMIC_RELAXED) + 1);
    clu_beacon_note *note = &beacon->notes[number % CLU_BEACON_NOTES];
    __atomic_store_n(&note->since_ns, since_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&note->until_ns, now_ns, __ATOMIC_RELAXED);
    // Before the word that ends the stretch: who sees that one sees the note.
    __atomic_store_n(&beacon->noted, number, __ATOMIC_RELEASE);
}

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

void clu_beacon_destroy(clu_beacon *beacon) { free(beacon); }
