// The operations of the loop's own thread off its fast path. This needs only libc and loop_table_member.c, and no
// symbol that musl lacks: the preloaded library uses these two files, and the linker drops the rest of the module.
#include "clb_beacon.h"
#include "clb_loop_table.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void clb_waker_post(clb_waker *waker) {
    __atomic_fetch_add(&waker->posts, 1, __ATOMIC_SEQ_CST);
    // A waiter counts itself before it reads the posts.
    if (__atomic_load_n(&waker->waiters, __ATOMIC_SEQ_CST) == 0) return;
    int saved = errno;
    syscall(SYS_futex, &waker->posts, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
    errno = saved;
}

static int process_filters;
static _Thread_local int thread_filters __attribute__((tls_model("initial-exec")));

int clb_makes_no_calls(void) { return thread_filters > 0 || __atomic_load_n(&process_filters, __ATOMIC_RELAXED) > 0; }

void clb_count_filters(int is_threads_own, int change) {
    if (is_threads_own) thread_filters += change;
    else __atomic_fetch_add(&process_filters, change, __ATOMIC_SEQ_CST);
}

void clb_waker_post_shared(clb_waker *waker) {
    int saved = errno;
    __atomic_fetch_add(&waker->posts, 1, __ATOMIC_SEQ_CST);
    // The waiter finds at its next check what was published.
    if (clb_makes_no_calls()) return;
    // Always: the number of waiting threads comes from another process and is not trusted.
    syscall(SYS_futex, &waker->posts, FUTEX_WAKE, 1, NULL, NULL, 0);
    errno = saved;
}

void clb_beacon_answer(clb_beacon *beacon, uint8_t activity) {
    // A loop that is armed only for its idle time comes here with every activity until then.
    uint16_t answers = clb_activity_is_rest(activity) ? CLB_ARMED_ANY | CLB_ARMED_REST : CLB_ARMED_ANY;
    // A loop that becomes idle strongly orders its word before this in clb_beacon_wake; a working loop may be late by
    // a scan.
    if ((__atomic_load_n(&beacon->armed, __ATOMIC_SEQ_CST) & answers) == 0) return;
    if ((__atomic_fetch_and(&beacon->armed, (uint16_t)~answers, __ATOMIC_SEQ_CST) & answers) == 0) return;
    uint64_t now = clb_now_ns();
    __atomic_store_n(&beacon->answered_ns, now, __ATOMIC_RELEASE);
    // In a beacon that other processes can write, the waker is not followed: an address from there may be anything.
    clb_waker *shared = clb_loop_table_waker_of(beacon);
    clb_waker *waker = shared != NULL ? shared : __atomic_load_n(&beacon->waker, __ATOMIC_RELAXED);
    clb_waker_record_answer(waker, now);
    if (shared != NULL) clb_waker_post_shared(waker);
    else clb_waker_post(waker);
}

void clb_beacon_record_stretch(clb_beacon *beacon, uint64_t since_ns, uint64_t now_ns) {
    uint8_t activity = (uint8_t)__atomic_load_n(&beacon->word, __ATOMIC_RELAXED);
    if (now_ns < since_ns || clb_activity_is_rest(activity)) return;
    uint16_t number = (uint16_t)(__atomic_load_n(&beacon->stretch_count, __ATOMIC_RELAXED) + 1);
    clb_beacon_stretch *stretch = &beacon->stretches[number % CLB_BEACON_STRETCHES];
    __atomic_store_n(&stretch->since_ns, since_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&stretch->until_ns, now_ns, __ATOMIC_RELAXED);
    // Before the word that ends the stretch: a reader that sees that word also sees the record.
    __atomic_store_n(&beacon->stretch_count, number, __ATOMIC_RELEASE);
}
