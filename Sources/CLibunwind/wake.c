#define _GNU_SOURCE
#include "clu_wake.h"
#include "clu_beacon.h"
#include "clu_linux.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

clu_wake *clu_wake_create(void) {
    clu_wake *wake = aligned_alloc(64, sizeof(clu_wake));
    if (wake == NULL) return NULL;
    memset(wake, 0, sizeof(*wake));
    wake->event_fd = -1;
    return wake;
}

void clu_wake_destroy(clu_wake *wake) { free(wake); }

static void clu_futex_wake(uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); }

// Absolute deadline on CLOCK_MONOTONIC. Returns at once when the word is not `expected`.
static void clu_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline_ns) {
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000u),
        .tv_nsec = (long)(deadline_ns % 1000000000u),
    };
    syscall(
        SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline_ns == UINT64_MAX ? NULL : &deadline, NULL,
        FUTEX_BITSET_MATCH_ANY
    );
}

void clu_wake_sleeper(clu_wake *wake, uint32_t old_state) {
    int saved = errno;
    __atomic_store_n(&wake->asked_ns, clu_now_ns(), __ATOMIC_RELAXED);
    if (old_state == CLU_WAKE_ASLEEP_FUTEX) {
        clu_futex_wake(&wake->state, 1);
    } else {
        uint64_t one = 1;
        while (write(wake->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {}
    }
    errno = saved;
}

int clu_wake_spin(clu_wake *wake, uint64_t now_ns, uint64_t budget_ns) {
    uint64_t end = now_ns + budget_ns;
    do {
        for (int i = 0; i < 16; i++) {
            if (clu_wake_is_pending(wake)) return 1;
            clu_relax();
        }
    } while (clu_now_ns() < end);
    return 0;
}

void clu_wake_sleep(clu_wake *wake, uint64_t deadline_ns) {
    uint32_t expected = CLU_WAKE_AWAKE;
    if (__atomic_compare_exchange_n(
            &wake->state, &expected, CLU_WAKE_ASLEEP_FUTEX, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        int saved = errno;
        while (__atomic_load_n(&wake->state, __ATOMIC_SEQ_CST) == CLU_WAKE_ASLEEP_FUTEX) {
            clu_futex_wait(&wake->state, CLU_WAKE_ASLEEP_FUTEX, deadline_ns);
            if (deadline_ns != UINT64_MAX && clu_now_ns() >= deadline_ns) break;
        }
        errno = saved;
    }
    __atomic_exchange_n(&wake->state, CLU_WAKE_AWAKE, __ATOMIC_SEQ_CST);
}

void clu_gate_open(uint32_t *gate) {
    __atomic_store_n(gate, 1u, __ATOMIC_SEQ_CST);
    clu_futex_wake(gate, INT_MAX);
}

void clu_gate_wait(uint32_t *gate) {
    while (!clu_gate_is_open(gate)) clu_futex_wait(gate, 0, UINT64_MAX);
}
