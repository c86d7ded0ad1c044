// What the threads of another process do, as far as the calls in which they sleep show it.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>

#include "clr_thread_sample.h"
#include "foreign_descriptor.h"
#include "cll_memory.h"
#include "cll_procfs_text.h"

// Newer than the headers of some systems; the numbers are the same on every architecture.
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif
#ifndef SYS_futex_wait
#define SYS_futex_wait 455
#endif
enum { FUTEX2_PRIVATE_BIT = 128 };  // FUTEX2_PRIVATE (linux/futex.h)

static int clr_is_read(int64_t number) {
    return number == SYS_read || number == SYS_readv || number == SYS_recvfrom || number == SYS_recvmsg || number == SYS_recvmmsg;
}

int32_t clr_call_use(pid_t pid, const cll_thread_syscall *call) {
    char link[LINK_BYTES];
    if (clr_wait_kind(call->number) != 0) return CLR_CALL_RESTS;
    switch (call->number) {
        case SYS_futex:
        case SYS_futex_wait:
        case SYS_futex_waitv:
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
        case SYS_io_pgetevents:
        case SYS_flock:
        case SYS_fcntl:
        // A call with a timeout, restarted after a stop; the caller may know which one (`clr_restarted`).
        case SYS_restart_syscall:
#ifdef SYS_pause
        case SYS_pause:
#endif
            return CLR_CALL_RESTS;
        case SYS_clock_nanosleep:
#ifdef SYS_nanosleep
        case SYS_nanosleep:
#endif
            return CLR_CALL_SLEEPS;
        default:
            if (!clr_is_read(call->number)) return CLR_CALL_WORKS;
            if (clr_link(pid, (int)call->arguments[0], link) < 0) return CLR_CALL_WORKS;
            if (clr_begins(link, "socket:") || clr_begins(link, "pipe:") || clr_begins(link, "anon_inode:")) return CLR_CALL_RESTS;
            return clr_is_terminal(link) ? CLR_CALL_RESTS : CLR_CALL_WORKS;
    }
}

int32_t clr_awaited_descriptor(pid_t pid, const cll_thread_syscall *call) {
    if (clr_is_read(call->number)) return (int32_t)call->arguments[0];
    clr_wait_object waited;
    int is_one = clr_wait_object_read(pid, call, &waited) && waited.epoll < 0 && !waited.is_ring && waited.is_complete && waited.count == 1;
    return is_one ? waited.waited[0].descriptor : -1;
}

static int clr_visit_thread(unsigned tid, void *context) { return (pid_t)tid == *(const pid_t *)context; }

// The C library waits for a thread's exit on a futex with its thread ID, which is not private because the kernel wakes it (pthread_join).
static int clr_joins_thread(pid_t pid, const cll_thread_syscall *call) {
    enum { MOST = 4096 };
    pid_t tid = (pid_t)call->arguments[2];
    return tid > 0 && cll_procfs_each(pid, "task", MOST, clr_visit_thread, &tid) == 1;
}

int clr_awaits_own(const cll_thread_syscall *call) {
    switch (call->number) {
        case SYS_wait4:
        case SYS_waitid:
        case SYS_futex:
        case SYS_futex_wait:
        case SYS_futex_waitv: return 1;
        default: return 0;
    }
}

void clr_restarted(cll_thread_syscall *call, const cll_thread_syscall *before) {
    if (call->number != SYS_restart_syscall || call->sp != before->sp || call->pc != before->pc) return;
    for (int index = 0; index < 6; index++) {
        if (call->arguments[index] != before->arguments[index]) return;
    }
    call->number = before->number;
}

// Whether the first futex of the vector is shared. The rest is of the same kind: a wait for both is not known to exist.
static int clr_is_shared_vector(pid_t pid, const cll_thread_syscall *call) {
    struct { uint64_t value, address; uint32_t flags, reserved; } first;
    uint64_t at = call->arguments[0];
    return cll_memory_ready_bytes(pid, at, sizeof(first)) == sizeof(first) && cll_memory_read(pid, at, &first, sizeof(first)) == sizeof(first)
        && (first.flags & FUTEX2_PRIVATE_BIT) == 0;
}

int clr_waits_among_processes(pid_t pid, const cll_thread_syscall *call) {
    // For a 32-bit argument the kernel ignores the rest of the register, which may contain anything.
    uint32_t operation = (uint32_t)call->arguments[1];
    switch (call->number) {
        case SYS_flock:
        case SYS_semop:
        case SYS_semtimedop: return 1;
        case SYS_fcntl: return operation == F_SETLKW || operation == F_OFD_SETLKW;
        case SYS_futex: return (operation & FUTEX_PRIVATE_FLAG) == 0 && !clr_joins_thread(pid, call);
        case SYS_futex_wait: return ((uint32_t)call->arguments[3] & FUTEX2_PRIVATE_BIT) == 0;
        case SYS_futex_waitv: return clr_is_shared_vector(pid, call);
        default: return 0;
    }
}

typedef struct clr_use_search {
    pid_t pid;
    int use, threads, await_child;
} clr_use_search;

static int clr_visit_use(unsigned tid, void *context) {
    clr_use_search *search = context;
    cll_thread_syscall call;
    search->threads++;
    if (cll_procfs_syscall(search->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    search->await_child += call.number == SYS_wait4 || call.number == SYS_waitid;
    int kind = clr_wait_kind(call.number);
    int is_loops = kind == CLR_WAIT_EPOLL || kind == CLR_WAIT_RING || (kind == CLR_WAIT_POLL && call.arguments[1] > 1)
        || (kind == CLR_WAIT_SELECT && call.arguments[0] > 0);
    if (!is_loops) return 0;
    search->use = CLR_THREADS_WAIT;
    return 1;
}

int clr_threads_use(pid_t pid) {
    enum { MOST = 64 };
    clr_use_search search = {.pid = pid};
    cll_procfs_each(pid, "task", MOST, clr_visit_use, &search);
    if (search.use != 0) return search.use;
    return search.threads > 0 && search.await_child == search.threads ? CLR_THREADS_AWAIT_CHILDREN : CLR_THREADS_OTHERWISE;
}

typedef struct clr_fetcher_search {
    pid_t pid, tid;
    int32_t epoll;
} clr_fetcher_search;

static int clr_visit_waiter(unsigned tid, void *context) {
    const clr_fetcher_search *search = context;
    cll_thread_syscall call;
    if ((pid_t)tid == search->tid || cll_procfs_syscall(search->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    return clr_epoll_of_wait(&call) == search->epoll;
}

int clr_epoll_has_other_waiter(pid_t pid, pid_t tid, int32_t epoll, uint32_t most) {
    clr_fetcher_search search = {.pid = pid, .tid = tid, .epoll = epoll};
    int found = epoll >= 0 ? cll_procfs_each(pid, "task", most, clr_visit_waiter, &search) : 0;
    return found < 0 ? -1 : found;
}

int32_t clr_listener_of_accept(const cll_thread_syscall *call) {
    return call->number == SYS_accept || call->number == SYS_accept4 ? (int32_t)call->arguments[0] : -1;
}

// At which sockets other threads accept connections.
typedef struct clr_acceptors {
    pid_t pid, tid;
    uint32_t count;
    int32_t sockets[16];
} clr_acceptors;

static int clr_visit_acceptor(unsigned tid, void *context) {
    clr_acceptors *acceptors = context;
    cll_thread_syscall call;
    if ((pid_t)tid == acceptors->tid || cll_procfs_syscall(acceptors->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    int32_t socket = clr_listener_of_accept(&call);
    if (socket < 0) return 0;
    for (uint32_t index = 0; index < acceptors->count; index++) {
        if (acceptors->sockets[index] == socket) return 0;
    }
    if (acceptors->count == sizeof(acceptors->sockets) / sizeof(socket)) return 1;
    acceptors->sockets[acceptors->count++] = socket;
    return 0;
}

int clr_has_other_acceptor(pid_t pid, pid_t tid, const clr_wait_object *object, uint32_t most) {
    clr_acceptors acceptors = {.pid = pid, .tid = tid};
    int is_searched = cll_procfs_each(pid, "task", most, clr_visit_acceptor, &acceptors) == 0;
    // Once for all threads: the kernel makes a list of all members of an epoll instance.
    int waits = acceptors.count > 0 ? clr_waits_at(pid, object, acceptors.sockets, acceptors.count) : 0;
    return waits != 0 || is_searched ? waits : -1;
}
