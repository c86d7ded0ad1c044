// What the threads of another process do, as far as the calls in which they sleep say it.
#define _GNU_SOURCE
#include "cll_wait_object.h"

#include <sys/syscall.h>

#include "cll_thread_sample.h"
#include "foreign_descriptor.h"
#include "procfs_text.h"

int32_t cll_call_use(pid_t pid, const cll_thread_syscall *call) {
    char link[LINK_BYTES];
    if (cll_wait_kind(call->number) != 0) return CLL_CALL_RESTS;
    switch (call->number) {
        case SYS_futex:
        case SYS_accept:
        case SYS_accept4:
        case SYS_rt_sigtimedwait:
        case SYS_rt_sigsuspend:
        case SYS_wait4:
        case SYS_waitid:
        case SYS_msgrcv:
        case SYS_mq_timedreceive:
        case SYS_semop:
        case SYS_semtimedop:
        case SYS_io_getevents:
        case SYS_flock:
        case SYS_fcntl:
        // A wait with a time-out after a stop.
        case SYS_restart_syscall:
#ifdef SYS_pause
        case SYS_pause:
#endif
            return CLL_CALL_RESTS;
        case SYS_clock_nanosleep:
#ifdef SYS_nanosleep
        case SYS_nanosleep:
#endif
            return CLL_CALL_SLEEPS;
        case SYS_read:
        case SYS_readv:
        case SYS_recvfrom:
        case SYS_recvmsg:
        case SYS_recvmmsg:
            if (cll_link(pid, (int)call->arguments[0], link) < 0) return CLL_CALL_WORKS;
            if (cll_begins(link, "socket:") || cll_begins(link, "pipe:") || cll_begins(link, "anon_inode:")) return CLL_CALL_RESTS;
            return cll_is_terminal(link) ? CLL_CALL_RESTS : CLL_CALL_WORKS;
        default: return CLL_CALL_WORKS;
    }
}

typedef struct cll_use_search {
    pid_t pid;
    int use, threads, await_child;
} cll_use_search;

static int cll_visit_use(unsigned tid, void *context) {
    cll_use_search *search = context;
    cll_thread_syscall call;
    search->threads++;
    if (cll_procfs_syscall(search->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    search->await_child += call.number == SYS_wait4 || call.number == SYS_waitid;
    int kind = cll_wait_kind(call.number);
    int is_loops = kind == CLL_WAIT_EPOLL || kind == CLL_WAIT_RING || (kind == CLL_WAIT_POLL && call.arguments[1] > 1)
        || (kind == CLL_WAIT_SELECT && call.arguments[0] > 0);
    if (!is_loops) return 0;
    search->use = CLL_THREADS_WAIT;
    return 1;
}

int cll_threads_use(pid_t pid) {
    enum { MOST = 64 };
    cll_use_search search = {.pid = pid};
    cll_procfs_each(pid, "task", MOST, cll_visit_use, &search);
    if (search.use != 0) return search.use;
    return search.threads > 0 && search.await_child == search.threads ? CLL_THREADS_AWAIT_CHILDREN : CLL_THREADS_OTHERWISE;
}

typedef struct cll_waiter_search {
    pid_t pid, tid;
    int32_t epoll;
} cll_waiter_search;

static int cll_visit_waiter(unsigned tid, void *context) {
    const cll_waiter_search *search = context;
    cll_thread_syscall call;
    if ((pid_t)tid == search->tid || cll_procfs_syscall(search->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    return cll_epoll_of_wait(&call) == search->epoll;
}

int cll_epoll_has_other_waiter(pid_t pid, pid_t tid, int32_t epoll) {
    enum { MOST = 64 };
    cll_waiter_search search = {.pid = pid, .tid = tid, .epoll = epoll};
    return epoll >= 0 && cll_procfs_each(pid, "task", MOST, cll_visit_waiter, &search) > 0;
}
