#define _GNU_SOURCE
#include "trap.h"

#include "clb_beacon.h"
#include "clr_trace.h"
#include "cll_linux.h"
#include "cll_procfs.h"
#include "cll_procfs_text.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum {
    SPIN_NS = 20000,    // on another processor the target stops within microseconds; a wake-up takes longer
    BELL_NS = 20000000, // the interval at which a wait is interrupted
    NAP_NS = 100000,    // without a bell
};

// Wakes a thread from waitid. One of the least-used signals (valgrind uses the last one).
#define BELL (SIGRTMAX - 1)

static int has_bell;

// The jump target for ending a wait of this thread early. Its signals are blocked there.
static __thread sigjmp_buf *early_end;

static void clr_ring(int number, siginfo_t *info, void *context) {
    if (info->si_code == SI_TIMER) return;
    // Another process has sent it: it belongs to the thread that waits for such signals. This thread gets none until it waits again.
    int saved = errno;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, number);
    syscall(SYS_rt_sigqueueinfo, getpid(), number, info);
    errno = saved;
    // The bell is blocked now, so a wait that has not begun yet would not be interrupted. It only interrupts system calls.
    if (early_end != NULL) siglongjmp(*early_end, 1);
}

static void clr_prepare_bell(void) {
    struct sigaction present, bell = {.sa_sigaction = clr_ring, .sa_flags = SA_SIGINFO};
    if (sigaction(BELL, NULL, &present) != 0 || (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN)) return;
    sigfillset(&bell.sa_mask);
    has_bell = sigaction(BELL, &bell, NULL) == 0;
}

// Sleeps until the thread is stopped (0), has exited (ESRCH), or the bell rings (EINTR).
//
// The report of the stop is not consumed: for a child, the thread that waits for the child needs it as well (wrap.c does not consume it either). Each may
// still consume the report that the other waits for, so the bell must ring for that case.
static int clr_sleep_until_trap(pid_t tid) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, clr_prepare_bell);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = BELL};
    event._sigev_un._tid = cll_gettid();
    timer_t bell;
    if (!has_bell || timer_create(CLOCK_MONOTONIC, &event, &bell) != 0) {
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        return EINTR;
    }
    const struct timespec often = {.tv_nsec = BELL_NS};
    timer_settime(bell, 0, &(struct itimerspec){.it_interval = often, .it_value = often}, NULL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, BELL);
    siginfo_t change = {0};
    sigjmp_buf end;
    int error;
    if (sigsetjmp(end, 1) == 0) {
        early_end = &end;
        pthread_sigmask(SIG_UNBLOCK, &one, NULL);
        // Not the C library's function, which must not be left by a jump.
        error = syscall(SYS_waitid, P_PID, (id_t)tid, &change, WSTOPPED | WEXITED | WNOWAIT | __WALL, NULL) != 0 ? errno : 0;
        pthread_sigmask(SIG_BLOCK, &one, NULL);
    } else {
        // If no other thread takes that signal, it returns at the next wait.
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
        error = EINTR;
    }
    early_end = NULL;
    timer_delete(bell);
    if (error != 0) return error == EINTR ? EINTR : ESRCH;
    return change.si_code == CLD_EXITED || change.si_code == CLD_KILLED || change.si_code == CLD_DUMPED ? ESRCH : 0;
}

// Whether this thread still traces the target, which has neither exited nor been replaced by exec.
static int clr_is_held(pid_t pid, pid_t tid) {
    char text[4096];
    long length = cll_procfs_read(pid, tid, "status", text, sizeof(text));
    // Without a free descriptor or memory the answer is unknown: it is read again later.
    if (length < 0) return length != -ESRCH && length != -ENOENT;
    const char *state = cll_status_field(text, "\nState:\t"), *holder = cll_status_field(text, "\nTracerPid:\t");
    if (state == NULL || holder == NULL) return 1;
    return *state != 'Z' && *state != 'X' && (pid_t)cll_parse_number(&holder, 10) == cll_gettid();
}

// How long this thread has waited for a processor since it began, in ns; -1: not known.
static int64_t clr_delay(void) {
    char text[128];
    if (cll_procfs_schedstat(getpid(), cll_gettid(), text, sizeof(text)) <= 0) return -1;
    const char *place = strchr(text, ' ');
    if (place == NULL) return -1;
    place++;
    return (int64_t)cll_parse_number(&place, 10);
}

// Each slot: the number of the thread that owns it, shifted left by 32 bits, and how often that was stopped since it owns the slot.
static uint64_t stops[4096];

static uint64_t *clr_count_of(pid_t tid) { return &stops[(uint32_t)tid % (sizeof(stops) / sizeof(*stops))]; }

void clr_count_stop(pid_t tid) {
    uint64_t *slot = clr_count_of(tid), before = __atomic_load_n(slot, __ATOMIC_RELAXED), after;
    do {
        const uint32_t count = before >> 32 == (uint32_t)tid ? (uint32_t)before : 0;
        after = (uint64_t)(uint32_t)tid << 32 | (uint32_t)(count + 1);
    } while (!__atomic_compare_exchange_n(slot, &before, after, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

uint64_t clr_stops(pid_t tid) {
    const uint64_t found = __atomic_load_n(clr_count_of(tid), __ATOMIC_ACQUIRE);
    return found >> 32 == (uint32_t)tid ? (uint32_t)found : 0;
}

int clr_await_trap(pid_t pid, pid_t tid, clr_trap *trap) {
    const uint64_t begun_ns = clb_now_ns();
    *trap = (clr_trap){.running_ns = begun_ns};
    for (int is_first = 1;;) {
        if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &trap->stop) == 0) return 0;
        // A stop of its whole process has no such information (ptrace(2), "Group-stop").
        if (errno == EINVAL) {
            memset(&trap->stop, 0, sizeof(trap->stop));
            trap->stop.si_code = PTRACE_EVENT_STOP << 8;
            return 0;
        }
        if (errno != ESRCH) return errno;
        trap->running_ns = clb_now_ns();
        trap->woken_ns = 0;
        if (trap->running_ns - begun_ns < SPIN_NS) continue;
        // The target has no processor, perhaps because this thread uses it. (Naps of 5 us did not help: setting their timer took longer.)
        if (!is_first && !clr_is_held(pid, tid)) return ESRCH;
        is_first = 0;
        trap->delay_ns = clr_delay();
        int error = clr_sleep_until_trap(tid);
        if (error != 0 && error != EINTR) return error;
        if (error == 0) trap->woken_ns = clb_now_ns();
    }
}

uint64_t clr_trap_since(const clr_trap *trap) {
    if (trap->woken_ns == 0 || trap->delay_ns < 0) return trap->running_ns;
    // The stop woke this thread, which may then have waited for a processor.
    const int64_t delay_ns = clr_delay() - trap->delay_ns;
    if (delay_ns < 0 || (uint64_t)delay_ns > trap->woken_ns - trap->running_ns) return trap->running_ns;
    return trap->woken_ns - (uint64_t)delay_ns;
}
