#define _GNU_SOURCE
#include "cll_wait_object.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"
#include "cll_thread_sample.h"
#include "foreign_descriptor.h"
#include "procfs_text.h"

// MARK: Descriptors

static uint64_t cll_identity(const char *link, ssize_t length) {
    if (length < 0) return 0;
    uint64_t sum = 0xcbf29ce484222325;
    for (ssize_t index = 0; index < length; index++) sum = (sum ^ (uint8_t)link[index]) * 0x100000001b3;
    return sum | 1;
}

static int cll_is_epoll(const char *link) { return strcmp(link, "anon_inode:[eventpoll]") == 0; }
static int cll_is_signalfd(const char *link) { return strcmp(link, "anon_inode:[signalfd]") == 0; }
static int cll_is_terminal(const char *link) { return cll_begins(link, "/dev/pts/") || cll_begins(link, "/dev/tty"); }

// Whether the end of a duplicate does nothing that can wait: closing a file of a network or of a user's file system may.
static int cll_may_duplicate(const char *link) {
    return cll_begins(link, "socket:") || cll_begins(link, "pipe:") || cll_begins(link, "anon_inode:[eventfd]")
        || cll_begins(link, "anon_inode:[timerfd]") || cll_begins(link, "anon_inode:inotify") || cll_begins(link, "anon_inode:[pidfd]")
        || cll_is_terminal(link);
}

// MARK: Reading

static void cll_add(cll_wait_object *object, pid_t pid, int descriptor, int events) {
    if (object->count == CLL_WAITED_MAX) {
        object->is_complete = 0;
        return;
    }
    char link[LINK_BYTES];
    ssize_t length = cll_link(pid, descriptor, link);
    object->waited[object->count++] = (cll_waited){.descriptor = descriptor, .events = events, .identity = cll_identity(link, length)};
}

static int cll_read_poll(pid_t pid, const cll_thread_syscall *call, cll_wait_object *object) {
    struct pollfd entries[CLL_WAITED_MAX];
    uint64_t total = call->arguments[1];
    size_t count = total < CLL_WAITED_MAX ? (size_t)total : CLL_WAITED_MAX;
    if (count > 0 && cll_memory_read(pid, call->arguments[0], entries, count * sizeof(entries[0])) != count * sizeof(entries[0])) return 0;
    object->is_complete = total == count;
    for (size_t index = 0; index < count; index++) {
        // Negative ones are ignored (poll(2)).
        if (entries[index].fd >= 0) cll_add(object, pid, entries[index].fd, entries[index].events);
    }
    return 1;
}

static int cll_read_select(pid_t pid, const cll_thread_syscall *call, cll_wait_object *object) {
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
            cll_add(object, pid, (int)(word * 64) + bit, wanted);
        }
    }
    return 1;
}

int32_t cll_epoll_of_wait(const cll_thread_syscall *call) {
    return cll_wait_kind(call->number) == CLL_WAIT_EPOLL ? (int32_t)call->arguments[0] : -1;
}

int cll_wait_object_read(pid_t pid, const cll_thread_syscall *call, cll_wait_object *object) {
    object->epoll = cll_epoll_of_wait(call);
    object->count = 0;
    object->is_complete = 1;
    switch (cll_wait_kind(call->number)) {
        case CLL_WAIT_EPOLL: return 1;
        case CLL_WAIT_POLL: return cll_read_poll(pid, call, object);
        case CLL_WAIT_SELECT: return cll_read_select(pid, call, object);
        default: return 0;
    }
}

// MARK: Asking

static int cll_visit_descriptor(unsigned descriptor, void *context) {
    char link[LINK_BYTES];
    return cll_link(*(pid_t *)context, (int)descriptor, link) >= 0 && cll_is_signalfd(link);
}

// Whether the process has a signalfd, or so many descriptors that it may. One in use has its signals blocked in the thread that reads it, so most
// processes need no list of their descriptors.
static int cll_may_have_signalfd(pid_t pid, pid_t tid) {
    enum { MOST = 2048 };
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return 1;
    if (status.blocked_signals == 0) return 0;
    return cll_procfs_each(pid, "fd", MOST, cll_visit_descriptor, &pid) != 0;
}

static cll_work cll_unknown(int reason, int kind) {
    return (cll_work){.state = CLL_WORK_UNKNOWN, .reason = reason, .kind = kind};
}

static cll_work cll_poll_epoll(int pidfd, pid_t pid, pid_t tid, int32_t epoll) {
    char link[LINK_BYTES];
    if (cll_link(pid, epoll, link) < 0) {
        if (errno == ENOENT) return (cll_work){.kind = CLL_OBJECT_GONE};
        return cll_unknown(CLL_UNKNOWN_REFUSED, CLL_OBJECT_UNKNOWN);
    }
    if (!cll_is_epoll(link)) return (cll_work){.kind = CLL_OBJECT_GONE};
    if (cll_may_have_signalfd(pid, tid)) return cll_unknown(CLL_UNKNOWN_SIGNALFD, CLL_OBJECT_LOOP);
    int duplicate = cll_duplicate(pidfd, epoll);
    if (duplicate < 0) return cll_unknown(CLL_UNKNOWN_REFUSED, CLL_OBJECT_LOOP);
    cll_work work = {.kind = CLL_OBJECT_LOOP};
    // It may be another by now.
    char path[64] = "/proc/self/fd/";
    *cll_append_number(path + 14, (unsigned)duplicate) = 0;
    ssize_t length = readlink(path, link, sizeof(link) - 1);
    link[length > 0 ? length : 0] = 0;
    if (!cll_is_epoll(link)) {
        work.kind = CLL_OBJECT_GONE;
    } else {
        struct pollfd entry = {.fd = duplicate, .events = POLLIN};
        work.state = poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) ? CLL_WORK_PENDING : CLL_WORK_NONE;
    }
    close(duplicate);
    return work;
}

// Whether one descriptor leads to one other party.
static int cll_is_peer(int duplicate, const char *link) {
    if (cll_begins(link, "pipe:") || cll_is_terminal(link)) return 1;
    if (!cll_begins(link, "socket:")) return 0;
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    return getpeername(duplicate, (struct sockaddr *)&address, &length) == 0;
}

static cll_work cll_poll_set(int pidfd, pid_t pid, const cll_wait_object *object) {
    cll_work work = {.kind = object->count > 0 ? CLL_OBJECT_LOOP : CLL_OBJECT_TIMER};
    struct pollfd entries[CLL_WAITED_MAX];
    uint32_t asked = 0, gone = 0, refused = 0;
    uint32_t count = object->count < CLL_WAITED_MAX ? object->count : CLL_WAITED_MAX;
    for (uint32_t index = 0; index < count; index++) {
        char link[LINK_BYTES];
        const cll_waited *waited = &object->waited[index];
        ssize_t length = cll_link(pid, waited->descriptor, link);
        if (length < 0 && errno != ENOENT) refused++;
        // Closed, or another file under the same number.
        if (waited->identity == 0 || cll_identity(link, length) != waited->identity) {
            gone++;
            continue;
        }
        if (!cll_may_duplicate(link)) continue;
        int duplicate = cll_duplicate(pidfd, waited->descriptor);
        if (duplicate < 0) {
            refused++;
            continue;
        }
        if (count == 1 && object->is_complete && cll_is_peer(duplicate, link)) work.kind = CLL_OBJECT_PEER;
        entries[asked++] = (struct pollfd){.fd = duplicate, .events = (short)waited->events};
    }
    int ready = asked > 0 ? poll(entries, asked, 0) : 0;
    for (uint32_t index = 0; index < asked; index++) close(entries[index].fd);
    if (ready > 0) work.state = CLL_WORK_PENDING;
    else if (count > 0 && gone == count && object->is_complete) work.kind = CLL_OBJECT_GONE;
    else if (refused > 0) work = cll_unknown(CLL_UNKNOWN_REFUSED, work.kind);
    else if (asked + gone < count || !object->is_complete) work = cll_unknown(CLL_UNKNOWN_DESCRIPTORS, work.kind);
    return work;
}

void cll_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const cll_wait_object *object, cll_work *work) {
    int saved = errno;
    *work = object->epoll >= 0 ? cll_poll_epoll(pidfd, pid, tid, object->epoll) : cll_poll_set(pidfd, pid, object);
    errno = saved;
}

// MARK: Threads

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
