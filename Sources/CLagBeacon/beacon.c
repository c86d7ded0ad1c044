#define _GNU_SOURCE
#include "clb_beacon.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clb_mirror.h"

int clb_beacon_read_stretch(const clb_beacon *beacon, uint16_t number, clb_beacon_stretch *stretch) {
    const clb_beacon_stretch *source = &beacon->stretches[number % CLB_BEACON_STRETCHES];
    stretch->since_ns = __atomic_load_n(&source->since_ns, __ATOMIC_RELAXED);
    stretch->until_ns = __atomic_load_n(&source->until_ns, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    // The loop may be writing a later stretch in this place; that one counts only afterwards.
    return (uint16_t)(__atomic_load_n(&beacon->stretch_count, __ATOMIC_RELAXED) - number) < CLB_BEACON_STRETCHES - 1;
}

void clb_beacon_limit(clb_beacon *beacon, uint64_t limit_ns) {
    uint64_t present = __atomic_load_n(&beacon->limit_ns, __ATOMIC_RELAXED);
    while (present == 0 || limit_ns < present) {
        if (__atomic_compare_exchange_n(&beacon->limit_ns, &present, limit_ns, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
    }
}

static struct timespec clb_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};
}

int clb_sem_wait_until(sem_t *semaphore, uint64_t deadline_ns) {
    if (deadline_ns == UINT64_MAX) {
        while (sem_wait(semaphore) != 0) {
            if (errno != EINTR) return 0;
        }
        return 1;
    }
    struct timespec deadline = clb_timespec(deadline_ns);
    while (sem_clockwait(semaphore, CLOCK_MONOTONIC, &deadline) != 0) {
        if (errno != EINTR) return 0;
    }
    return 1;
}

clb_waker *clb_waker_create(void) { return calloc(1, sizeof(clb_waker)); }

void clb_waker_destroy(clb_waker *waker) { free(waker); }

static int clb_waker_take(clb_waker *waker) {
    uint32_t posts = __atomic_load_n(&waker->posts, __ATOMIC_SEQ_CST);
    while (posts != 0) {
        if (__atomic_compare_exchange_n(&waker->posts, &posts, posts - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return 1;
    }
    return 0;
}

// FUTEX_WAIT_BITSET: the only wait with an absolute time on CLOCK_MONOTONIC (futex(2)).
static int clb_waker_wait_as(clb_waker *waker, uint64_t deadline_ns, int kind) {
    struct timespec deadline = clb_timespec(deadline_ns);
    while (!clb_waker_take(waker)) {
        const struct timespec *until = deadline_ns == UINT64_MAX ? NULL : &deadline;
        if (syscall(SYS_futex, &waker->posts, FUTEX_WAIT_BITSET | kind, 0, until, NULL, FUTEX_BITSET_MATCH_ANY) == 0) {
            // Woken, regardless of what another process has written to the word since.
            clb_waker_take(waker);
            return 1;
        }
        if (errno == ETIMEDOUT) return clb_waker_take(waker);
        if (errno != EAGAIN && errno != EINTR) {
            // A call that the kernel refuses is no reason to exit, nor to repeat it at once.
            struct timespec pause = {.tv_nsec = 1000000};
            clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
            if (clb_now_ns() >= deadline_ns) return clb_waker_take(waker);
        }
    }
    return 1;
}

int clb_waker_wait(clb_waker *waker, uint64_t deadline_ns) {
    __atomic_fetch_add(&waker->waiters, 1, __ATOMIC_SEQ_CST);
    int posted = clb_waker_wait_as(waker, deadline_ns, FUTEX_PRIVATE_FLAG);
    __atomic_fetch_sub(&waker->waiters, 1, __ATOMIC_SEQ_CST);
    return posted;
}

int clb_waker_wait_shared(clb_waker *waker, uint64_t deadline_ns) { return clb_waker_wait_as(waker, deadline_ns, 0); }

uint64_t clb_waker_drain(clb_waker *waker) {
    // An exchange: with a store, later reads (the stop flag) could be reordered before it on some processors.
    (void)__atomic_exchange_n(&waker->posts, 0, __ATOMIC_SEQ_CST);
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
