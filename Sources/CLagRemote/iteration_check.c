#define _GNU_SOURCE
#include "clr_iteration_check.h"

#include "clb_beacon.h"
#include "clr_thread_sample.h"
#include "cll_procfs_text.h"
#include "trap.h"
#include "wait_restart.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct clr_iteration_check {
    pthread_t thread;
    pid_t pid, tid;
    int is_childs;  // whether it is a thread of a child of this process
    int64_t call;
    uint64_t sp;
    uint32_t result;
    uint64_t begun_ns, seen_ns;
};

// Each call stops the thread twice, on entry and exit, for some µs.
enum { MAXIMUM_STOPS = 128 };

// The kernel's PTRACE_SYSCALL_INFO_ENTRY.
enum { OF_ENTRY = 1 };

// Whether the thread, stopped at a system call, enters the loop's wait.
static int clr_is_at_wait(const clr_iteration_check *check) {
    struct __ptrace_syscall_info info;
    memset(&info, 0, sizeof(info));
    if (ptrace(PTRACE_GET_SYSCALL_INFO, check->tid, sizeof(info), &info) <= 0) return 0;
    if (info.op != OF_ENTRY || info.stack_pointer != check->sp) return 0;
    return check->call < 0 ? clr_wait_kind((int64_t)info.entry.nr) != 0 : (int64_t)info.entry.nr == check->call;
}

// Waits for the next stop without consuming its report: the thread may belong to a child whose changes another thread waits for.
static int clr_await_tracee(const clr_iteration_check *check, siginfo_t *stop) {
    // The kernel also reports a child's stop to the waiting parent, which may consume it first; so this polls.
    for (int polls = 0; check->is_childs; polls++) {
        if (ptrace(PTRACE_GETSIGINFO, check->tid, NULL, stop) == 0) return 0;
        if (errno != ESRCH) return errno;
        struct timespec pause = {.tv_sec = 0, .tv_nsec = polls < 100 ? 2000 : 20000};
        nanosleep(&pause, NULL);
    }
    siginfo_t change = {0};
    while (waitid(P_PID, (id_t)check->tid, &change, WSTOPPED | WNOWAIT | __WALL) != 0) {
        if (errno != EINTR) return errno;
    }
    return ptrace(PTRACE_GETSIGINFO, check->tid, NULL, stop) == 0 ? 0 : errno;
}

static uint32_t clr_trace_until_wait(clr_iteration_check *check) {
    pid_t tid = check->tid;
    // The stopped target waits for this thread: a timer's usual slack of 50 µs would be too long.
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    // With SYSGOOD a stop at a call is not a signal number: if this process is killed just then, the kernel sends the target no signal.
    if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) != 0) return CLR_ITERATION_REFUSED;
    // If it is a thread of another process, the exit of this thread releases it.
    if (!cll_is_thread_of(check->pid, tid)) return CLR_ITERATION_UNSEEN;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) return CLR_ITERATION_UNSEEN;
    // From here on it stops before it continues.
    __atomic_store_n(&check->result, CLR_ITERATION_UNSEEN, __ATOMIC_RELEASE);
    for (int stops = 0; stops < MAXIMUM_STOPS; stops++) {
        siginfo_t stop;
        // EINVAL: its whole process was stopped, and stays stopped.
        if (clr_await_tracee(check, &stop) != 0) return CLR_ITERATION_UNSEEN;
        clr_count_stop(tid);
        int is_call = stop.si_code == (SIGTRAP | 0x80);
        int is_event = stop.si_code >> 8 == PTRACE_EVENT_STOP;
        if (is_event && stop.si_signo != SIGTRAP) return CLR_ITERATION_UNSEEN;
        if (is_call && clr_is_at_wait(check)) {
            check->seen_ns = clb_now_ns();
            // Not with PTRACE_DETACH, which wakes a stopped thread with a pending signal: then epoll_wait returns EINTR. The exit of this thread releases a
            // sleeping thread without waking it.
            ptrace(PTRACE_CONT, tid, NULL, NULL);
            return CLR_ITERATION_SEEN;
        }
        if (stops == 0) clr_restart_wait(tid, &stop, check->begun_ns);
        // A signal for the target is passed on.
        long signal = is_call || is_event ? 0 : stop.si_signo;
        if (ptrace(PTRACE_SYSCALL, tid, NULL, (void *)signal) != 0) return CLR_ITERATION_UNSEEN;
    }
    return CLR_ITERATION_EXHAUSTED;
}

static void *clr_iteration_check_run(void *context) {
    clr_iteration_check *check = context;
    uint32_t result = clr_trace_until_wait(check);
    __atomic_store_n(&check->result, result, __ATOMIC_RELEASE);
    return NULL;
}

static int clr_is_childs(pid_t tid) {
    char text[4096];
    if (cll_procfs_read(tid, 0, "status", text, sizeof(text)) <= 0) return 0;
    const char *parent = cll_status_field(text, "\nPPid:\t");
    return parent != NULL && (pid_t)cll_parse_number(&parent, 10) == getpid();
}

clr_iteration_check *clr_iteration_check_begin(pid_t pid, pid_t tid, int64_t call, uint64_t sp) {
    clr_iteration_check *check = calloc(1, sizeof(*check));
    if (check == NULL) return NULL;
    check->pid = pid;
    check->tid = tid;
    check->is_childs = clr_is_childs(tid);
    check->call = call;
    check->sp = sp;
    check->result = CLR_ITERATION_REFUSED;
    check->begun_ns = clb_now_ns();
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&check->thread, NULL, clr_iteration_check_run, check);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        free(check);
        return NULL;
    }
    pthread_setname_np(check->thread, "lag-iteration");
    return check;
}

int clr_iteration_check_end(clr_iteration_check *check, uint64_t *seen_ns) {
    // It may wait for a call that never happens.
    pthread_cancel(check->thread);
    pthread_join(check->thread, NULL);
    int result = (int)__atomic_load_n(&check->result, __ATOMIC_ACQUIRE);
    *seen_ns = check->seen_ns;
    free(check);
    return result;
}
