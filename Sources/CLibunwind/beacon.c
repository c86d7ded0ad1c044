#include "clu_beacon.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void clu_beacon_answer(clu_beacon *beacon) {
    if (__atomic_exchange_n(&beacon->armed, 0u, __ATOMIC_SEQ_CST) == 0) return;
    int saved = errno;
    __atomic_store_n(&beacon->answered_ns, clu_now_ns(), __ATOMIC_RELEASE);
    sem_post(__atomic_load_n(&beacon->semaphore, __ATOMIC_RELAXED));
    errno = saved;
}

clu_beacon *clu_beacon_create(void) {
    clu_beacon *beacon = aligned_alloc(64, sizeof(clu_beacon));
    if (beacon != NULL) memset(beacon, 0, sizeof(*beacon));
    return beacon;
}

void clu_beacon_destroy(clu_beacon *beacon) { free(beacon); }
