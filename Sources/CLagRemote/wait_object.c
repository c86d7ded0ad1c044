#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"
#include "clr_thread_sample.h"
#include "foreign_descriptor.h"
#include "cll_procfs_text.h"

// MARK: Descriptors

static uint64_t clr_identity(const char *link, ssize_t length) {
    if (length < 0) return 0;
    uint64_t sum = 0xcbf29ce484222325;
    for (ssize_t index = 0; index < length; index++) sum = (sum ^ (uint8_t)link[index]) * 0x100000001b3;
    return sum | 1;
}

static int clr_is_epoll(const char *link) { return strcmp(link, "anon_inode:[eventpoll]") == 0; }
static int clr_is_signalfd(const char *link) { return strcmp(link, "anon_inode:[signalfd]") == 0; }
static int clr_is_terminal(const char *link) { return clr_begins(link, "/dev/pts/") || clr_begins(link, "/dev/tty"); }

// Whether the end of a duplicate does nothing that can wait: closing a file of a network or of a user's file system may.
static int clr_may_duplicate(const char *link) {
    return clr_begins(link, "socket:") || clr_begins(link, "pipe:") || clr_begins(link, "anon_inode:[eventfd]")
        || clr_begins(link, "anon_inode:[timerfd]") || clr_begins(link, "anon_inode:inotify") || clr_begins(link, "anon_inode:[pidfd]")
        || clr_is_terminal(link);
}

// MARK: Reading

static void clr_add(clr_wait_object *object, pid_t pid, int descriptor, int events) {
    if (object->count == CLR_WAITED_MAX) {
        object->is_complete = 0;
        return;
    }
    char link[LINK_BYTES];
    ssize_t length = clr_link(pid, descriptor, link);
    object->waited[object->count++] = (clr_waited){.descriptor = descriptor, .events = events, .identity = clr_identity(link, length)};
}

static int clr_read_poll(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    struct pollfd entries[CLR_WAITED_MAX];
    uint64_t total = call->arguments[1];
    size_t count = total < CLR_WAITED_MAX ? (size_t)total : CLR_WAITED_MAX;
    if (count > 0 && cll_memory_read(pid, call->arguments[0], entries, count * sizeof(entries[0])) != count * sizeof(entries[0])) return 0;
    object->is_complete = total == count;
    for (size_t index = 0; index < count; index++) {
        // Negative ones are ignored (poll(2)).
        if (entries[index].fd >= 0) clr_add(object, pid, entries[index].fd, entries[index].events);
    }
    return 1;
}

static int clr_read_select(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    enum { WORDS = 1024 / 64 };
    static const int events[3] = {POLLIN, POLLOUT, POLLPRI};
    uint64_t sets[3][WORDS];
    uint64_t total = call->arguments[0];
    size_t words = total >= 1024 ? WORDS : (size_t)(total + 63) / 64;
    memset(sets, 0, sizeof(sets));
    for (int set = 0; set < 3; set++) {
        uint64_t address = call->arguments[1 + set];
        if (address != 0 && words > 0 && cll_memory_read(pid, address, sets[set], words * 8) != words * 8) return 0;
    }
    object->is_complete = total <= 1024;
    for (size_t word = 0; word < words; word++) {
        for (uint64_t rest = sets[0][word] | sets[1][word] | sets[2][word]; rest != 0; rest &= rest - 1) {
            int bit = __builtin_ctzll(rest), wanted = 0;
            if (word * 64 + (size_t)bit >= total) break;
            for (int set = 0; set < 3; set++) {
                if (sets[set][word] >> bit & 1) wanted |= events[set];
            }
            clr_add(object, pid, (int)(word * 64) + bit, wanted);
        }
    }
    return 1;
}

int32_t clr_epoll_of_wait(const cll_thread_syscall *call) {
    return clr_wait_kind(call->number) == CLR_WAIT_EPOLL ? (int32_t)call->arguments[0] : -1;
}

int clr_wait_object_read(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    object->epoll = clr_epoll_of_wait(call);
    object->count = 0;
    object->is_complete = 1;
    switch (clr_wait_kind(call->number)) {
        case CLR_WAIT_EPOLL: return 1;
        case CLR_WAIT_POLL: return clr_read_poll(pid, call, object);
        case CLR_WAIT_SELECT: return clr_read_select(pid, call, object);
        default: return 0;
    }
}

// MARK: Asking

static int clr_visit_descriptor(unsigned descriptor, void *context) {
    char link[LINK_BYTES];
    return clr_link(*(pid_t *)context, (int)descriptor, link) >= 0 && clr_is_signalfd(link);
}

// Whether the process has a signalfd, or so many descriptors that it may. One in use has its signals blocked in the thread that reads it, so most
// processes need no list of their descriptors.
static int clr_may_have_signalfd(pid_t pid, pid_t tid) {
    enum { MOST = 2048 };
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return 1;
    if (status.blocked_signals == 0) return 0;
    return cll_procfs_each(pid, "fd", MOST, clr_visit_descriptor, &pid) != 0;
}

static clr_work clr_unknown(int reason, int kind) {
    return (clr_work){.state = CLR_WORK_UNKNOWN, .reason = reason, .kind = kind};
}

static clr_work clr_poll_epoll(int pidfd, pid_t pid, pid_t tid, int32_t epoll) {
    char link[LINK_BYTES];
    if (clr_link(pid, epoll, link) < 0) {
        if (errno == ENOENT) return (clr_work){.kind = CLR_OBJECT_GONE};
        return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_UNKNOWN);
    }
    if (!clr_is_epoll(link)) return (clr_work){.kind = CLR_OBJECT_GONE};
    if (clr_may_have_signalfd(pid, tid)) return clr_unknown(CLR_UNKNOWN_SIGNALFD, CLR_OBJECT_LOOP);
    int duplicate = clr_duplicate(pidfd, epoll);
    if (duplicate < 0) return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_LOOP);
    clr_work work = {.kind = CLR_OBJECT_LOOP};
    // It may be another by now.
    char path[64] = "/proc/self/fd/";
    *cll_append_number(path + 14, (unsigned)duplicate) = 0;
    ssize_t length = readlink(path, link, sizeof(link) - 1);
    link[length > 0 ? length : 0] = 0;
    if (!clr_is_epoll(link)) {
        work.kind = CLR_OBJECT_GONE;
    } else {
        struct pollfd entry = {.fd = duplicate, .events = POLLIN};
        work.state = poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) ? CLR_WORK_PENDING : CLR_WORK_NONE;
    }
    close(duplicate);
    return work;
}

// Whether one descriptor leads to one other party.
static int clr_is_peer(int duplicate, const char *link) {
    if (clr_begins(link, "pipe:") || clr_is_terminal(link)) return 1;
    if (!clr_begins(link, "socket:")) return 0;
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    return getpeername(duplicate, (struct sockaddr *)&address, &length) == 0;
}

static clr_work clr_poll_set(int pidfd, pid_t pid, const clr_wait_object *object) {
    clr_work work = {.kind = object->count > 0 ? CLR_OBJECT_LOOP : CLR_OBJECT_TIMER};
    struct pollfd entries[CLR_WAITED_MAX];
    uint32_t asked = 0, gone = 0, refused = 0;
    uint32_t count = object->count < CLR_WAITED_MAX ? object->count : CLR_WAITED_MAX;
    for (uint32_t index = 0; index < count; index++) {
        char link[LINK_BYTES];
        const clr_waited *waited = &object->waited[index];
        ssize_t length = clr_link(pid, waited->descriptor, link);
        if (length < 0 && errno != ENOENT) refused++;
        // Closed, or another file under the same number.
        if (waited->identity == 0 || clr_identity(link, length) != waited->identity) {
            gone++;
            continue;
        }
        if (!clr_may_duplicate(link)) continue;
        int duplicate = clr_duplicate(pidfd, waited->descriptor);
        if (duplicate < 0) {
            refused++;
            continue;
        }
        if (count == 1 && object->is_complete && clr_is_peer(duplicate, link)) work.kind = CLR_OBJECT_PEER;
        entries[asked++] = (struct pollfd){.fd = duplicate, .events = (short)waited->events};
    }
    int ready = asked > 0 ? poll(entries, asked, 0) : 0;
    for (uint32_t index = 0; index < asked; index++) close(entries[index].fd);
    if (ready > 0) work.state = CLR_WORK_PENDING;
    else if (count > 0 && gone == count && object->is_complete) work.kind = CLR_OBJECT_GONE;
    else if (refused > 0) work = clr_unknown(CLR_UNKNOWN_REFUSED, work.kind);
    else if (asked + gone < count || !object->is_complete) work = clr_unknown(CLR_UNKNOWN_DESCRIPTORS, work.kind);
    return work;
}

void clr_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const clr_wait_object *object, clr_work *work) {
    int saved = errno;
    *work = object->epoll >= 0 ? clr_poll_epoll(pidfd, pid, tid, object->epoll) : clr_poll_set(pidfd, pid, object);
    errno = saved;
}

// MARK: Threads

int32_t clr_call_use(pid_t pid, const cll_thread_syscall *call) {
    char link[LINK_BYTES];
    if (clr_wait_kind(call->number) != 0) return CLR_CALL_RESTS;
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
            return CLR_CALL_RESTS;
        case SYS_clock_nanosleep:
#ifdef SYS_nanosleep
        case SYS_nanosleep:
#endif
            return CLR_CALL_SLEEPS;
        case SYS_read:
        case SYS_readv:
        case SYS_recvfrom:
        case SYS_recvmsg:
        case SYS_recvmmsg:
            if (clr_link(pid, (int)call->arguments[0], link) < 0) return CLR_CALL_WORKS;
            if (clr_begins(link, "socket:") || clr_begins(link, "pipe:") || clr_begins(link, "anon_inode:")) return CLR_CALL_RESTS;
            return clr_is_terminal(link) ? CLR_CALL_RESTS : CLR_CALL_WORKS;
        default: return CLR_CALL_WORKS;
    }
}

typedef struct clr_waiter_search {
    pid_t pid, tid;
    int32_t epoll;
} clr_waiter_search;

static int clr_visit_waiter(unsigned tid, void *context) {
    const clr_waiter_search *search = context;
    cll_thread_syscall call;
    if ((pid_t)tid == search->tid || cll_procfs_syscall(search->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    return clr_epoll_of_wait(&call) == search->epoll;
}

int clr_epoll_has_other_waiter(pid_t pid, pid_t tid, int32_t epoll) {
    enum { MOST = 64 };
    clr_waiter_search search = {.pid = pid, .tid = tid, .epoll = epoll};
    return epoll >= 0 && cll_procfs_each(pid, "task", MOST, clr_visit_waiter, &search) > 0;
}
