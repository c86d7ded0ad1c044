// What the loop's own thread does off its fast path. Needs nothing but libc: the preloaded library is built from this file, too.
#include "clu_beacon.h"
#include "clu_page.h"

#include <errno.h>

void clu_beacon_answer(clu_beacon *beacon, uint8_t activity) {
    // A loop that is armed for its rest alone comes here with every activity until then.
    uint16_t answers = clu_activity_is_rest(activity) ? CLU_ARMED_ANY | CLU_ARMED_REST : CLU_ARMED_ANY;
    // A loop that rests strongly orders its word before this in clu_beacon_wake; one that works may be late by a look.
    if ((__atomic_load_n(&beacon->armed, __ATOMIC_SEQ_CST) & answers) == 0) return;
    if ((__atomic_fetch_and(&beacon->armed, (uint16_t)~answers, __ATOMIC_SEQ_CST) & answers) == 0) return;
    int saved = errno;
    uint64_t now = clu_now_ns();
    __atomic_store_n(&beacon->answered_ns, now, __ATOMIC_RELEASE);
    // A beacon that other processes can write to names nobody: an address from there may be anything.
    clu_waker *waker = clu_page_waker_of(beacon);
    if (waker == NULL) waker = __atomic_load_n(&beacon->waker, __ATOMIC_RELAXED);
    clu_waker_note(waker, now);
    sem_post(&waker->semaphore);
    errno = saved;
}

void clu_beacon_note_stretch(clu_beacon *beacon, uint64_t since_ns, uint64_t now_ns) {
    uint8_t activity = (uint8_t)__atomic_load_n(&beacon->word, __ATOMIC_RELAXED);
    if (now_ns < since_ns || clu_activity_is_rest(activity)) return;
    uint16_t number = (uint16_t)(__atomic_load_n(&beacon->noted, __ATOMIC_RELAXED) + 1);
    clu_beacon_note *note = &beacon->notes[number % CLU_BEACON_NOTES];
    __atomic_store_n(&note->since_ns, since_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&note->until_ns, now_ns, __ATOMIC_RELAXED);
    // Before the word that ends the stretch: who sees that one sees the note.
    __atomic_store_n(&beacon->noted, number, __ATOMIC_RELEASE);
}
