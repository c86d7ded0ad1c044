#define _GNU_SOURCE
#include "cll_wake.h"
#include "clb_beacon.h"
#include "cll_linux.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

cll_wake *cll_wake_create(void) {
    cll_wake *wake = aligned_alloc(64, sizeof(cll_wake));
    if (wake == NULL) return NULL;
    memset(wake, 0, sizeof(*wake));
    wake->event_fd = -1;
    return wake;
}

void cll_wake_destroy(cll_wake *wake) { free(wake); }

static void cll_futex_wake(uint32_t *word, int count) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0); }

// Absolute deadline on CLOCK_MONOTONIC. Returns at once if the word is not `expected`.
static void cll_futex_wait(uint32_t *word, uint32_t expected, uint64_t deadline_ns) {
    struct timespec deadline = {
        .tv_sec = (time_t)(deadline_ns / 1000000000u),
        .tv_nsec = (long)(deadline_ns % 1000000000u),
    };
    syscall(
        SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline_ns == UINT64_MAX ? NULL : &deadline, NULL,
        FUTEX_BITSET_MATCH_ANY
    );
}

void cll_wake_sleeper(cll_wake *wake, uint32_t old_state) {
    int saved = errno;
    __atomic_store_n(&wake->asked_ns, clb_now_ns(), __ATOMIC_RELAXED);
    if (old_state == CLL_WAKE_ASLEEP_FUTEX) {
        cll_futex_wake(&wake->state, 1);
    } else {
        uint64_t one = 1;
        while (write(wake->event_fd, &one, sizeof(one)) < 0 && errno == EINTR) {}
    }
    errno = saved;
}

int cll_wake_spin(cll_wake *wake, uint64_t now_ns, uint64_t budget_ns) {
    uint64_t end = now_ns + budget_ns;
    do {
        for (int i = 0; i < 16; i++) {
            if (cll_wake_is_pending(wake)) return 1;
            cll_relax();
        }
    } while (clb_now_ns() < end);
    return 0;
}

void cll_wake_sleep(cll_wake *wake, uint64_t deadline_ns) {
    uint32_t expected = CLL_WAKE_AWAKE;
    if (__atomic_compare_exchange_n(
            &wake->state, &expected, CLL_WAKE_ASLEEP_FUTEX, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        int saved = errno;
        while (__atomic_load_n(&wake->state, __ATOMIC_SEQ_CST) == CLL_WAKE_ASLEEP_FUTEX) {
            cll_futex_wait(&wake->state, CLL_WAKE_ASLEEP_FUTEX, deadline_ns);
            if (deadline_ns != UINT64_MAX && clb_now_ns() >= deadline_ns) break;
        }
        errno = saved;
    }
    __atomic_exchange_n(&wake->state, CLL_WAKE_AWAKE, __ATOMIC_SEQ_CST);
}

void cll_gate_open(uint32_t *gate) {
    __atomic_store_n(gate, 1u, __ATOMIC_SEQ_CST);
    cll_futex_wake(gate, INT_MAX);
}

void cll_gate_wait(uint32_t *gate) {
    while (!cll_gate_is_open(gate)) cll_futex_wait(gate, 0, UINT64_MAX);
}
