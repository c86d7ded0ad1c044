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
#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "procfs_text.h"
#include "signal_members.h"

// MARK: Descriptors

static uint64_t cll_identity(const char *link, ssize_t length) {
    if (length < 0) return 0;
    uint64_t sum = 0xcbf29ce484222325;
    for (ssize_t index = 0; index < length; index++) sum = (sum ^ (uint8_t)link[index]) * 0x100000001b3;
    return sum | 1;
}

static int cll_is_epoll(const char *link) { return strcmp(link, "anon_inode:[eventpoll]") == 0; }

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

// One that has a number of its own kind, which no other process can ask for, is not read.
static int cll_read_ring(pid_t pid, const cll_thread_syscall *call, cll_wait_object *object) {
    enum { REGISTERED = 1 << 4 };  // IORING_ENTER_REGISTERED_RING
    if ((call->arguments[3] & REGISTERED) != 0) return 0;
    object->is_ring = 1;
    cll_add(object, pid, (int)call->arguments[0], 0);
    return 1;
}

int cll_wait_object_read(pid_t pid, const cll_thread_syscall *call, cll_wait_object *object) {
    object->epoll = cll_epoll_of_wait(call);
    object->is_ring = 0;
    object->count = 0;
    object->is_complete = 1;
    switch (cll_wait_kind(call->number)) {
        case CLL_WAIT_EPOLL: return 1;
        case CLL_WAIT_POLL: return cll_read_poll(pid, call, object);
        case CLL_WAIT_SELECT: return cll_read_select(pid, call, object);
        case CLL_WAIT_RING: return cll_read_ring(pid, call, object);
        default: return 0;
    }
}

// MARK: Asking

static cll_work cll_unknown(int reason, int kind) {
    return (cll_work){.state = CLL_WORK_UNKNOWN, .reason = reason, .kind = kind};
}

static cll_work cll_poll_epoll(int pidfd, pid_t pid, pid_t tid, int32_t epoll, cll_signal_members *known) {
    char link[LINK_BYTES];
    if (cll_link(pid, epoll, link) < 0) {
        if (errno == ENOENT) return (cll_work){.kind = CLL_OBJECT_GONE};
        return cll_unknown(CLL_UNKNOWN_REFUSED, CLL_OBJECT_UNKNOWN);
    }
    if (!cll_is_epoll(link)) return (cll_work){.kind = CLL_OBJECT_GONE};
    if (cll_may_have_signalfd(pid, tid, epoll, known)) {
        int state = cll_members_state(pidfd, pid, tid, epoll);
        return state == CLL_WORK_UNKNOWN ? cll_unknown(CLL_UNKNOWN_SIGNALFD, CLL_OBJECT_LOOP) : (cll_work){.state = state, .kind = CLL_OBJECT_LOOP};
    }
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

// What one descriptor is that is waited for alone.
static int cll_kind_of_one(int duplicate, const char *link) {
    if (cll_is_terminal(link)) return CLL_OBJECT_TERMINAL;
    if (cll_begins(link, "pipe:")) return CLL_OBJECT_PEER;
    if (!cll_begins(link, "socket:")) return CLL_OBJECT_LOOP;
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);
    return getpeername(duplicate, (struct sockaddr *)&address, &length) == 0 ? CLL_OBJECT_PEER : CLL_OBJECT_LOOP;
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
        if (count == 1 && object->is_complete) work.kind = cll_kind_of_one(duplicate, link);
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

// What the kernel shows of a ring: how far its completions go, and how far the program has taken them.
static cll_work cll_poll_ring(pid_t pid, const cll_wait_object *object) {
    char link[LINK_BYTES], name[24] = "fdinfo/", text[512];
    int descriptor = object->waited[0].descriptor;
    ssize_t length = cll_link(pid, descriptor, link);
    if (length < 0 && errno != ENOENT) return cll_unknown(CLL_UNKNOWN_REFUSED, CLL_OBJECT_UNKNOWN);
    if (length < 0 || cll_identity(link, length) != object->waited[0].identity) return (cll_work){.kind = CLL_OBJECT_GONE};
    *cll_append_number(name + 7, (unsigned)descriptor) = 0;
    if (cll_procfs_read(pid, 0, name, text, sizeof(text)) <= 0) return cll_unknown(CLL_UNKNOWN_REFUSED, CLL_OBJECT_LOOP);
    const char *head = cll_status_field(text, "\nCqHead:\t"), *tail = cll_status_field(text, "\nCqTail:\t");
    if (head == NULL || tail == NULL) return cll_unknown(CLL_UNKNOWN_DESCRIPTORS, CLL_OBJECT_LOOP);
    cll_work work = {.kind = CLL_OBJECT_LOOP, .is_ring = 1, .fetched = (uint32_t)cll_parse_number(&head, 10)};
    work.state = work.fetched != (uint32_t)cll_parse_number(&tail, 10) ? CLL_WORK_PENDING : CLL_WORK_NONE;
    return work;
}

void cll_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const cll_wait_object *object, cll_signal_members *known, cll_work *work) {
    int saved = errno;
    *work = object->is_ring != 0 ? cll_poll_ring(pid, object)
        : object->epoll >= 0 ? cll_poll_epoll(pidfd, pid, tid, object->epoll, known)
                             : cll_poll_set(pidfd, pid, object);
    errno = saved;
}

// MARK: Loops within handlers

typedef struct cll_member_list {
    uint32_t count;
    cll_epoll_member members[CLL_WAITED_MAX];
} cll_member_list;

static int cll_visit_listed(const cll_epoll_member *member, void *context) {
    cll_member_list *list = context;
    if (list->count < CLL_WAITED_MAX) list->members[list->count++] = *member;
    return 0;
}

// Whether a wait, or the instance that it is on, is for these events of a descriptor.
static int cll_is_for(const cll_wait_object *wait, const cll_member_list *list, int32_t descriptor, int32_t events) {
    for (uint32_t index = 0; index < wait->count; index++) {
        if (wait->waited[index].descriptor == descriptor && (wait->waited[index].events & events) == events) return 1;
    }
    for (uint32_t index = 0; index < list->count; index++) {
        if (list->members[index].descriptor == descriptor && ((int32_t)list->members[index].events & events) == events) return 1;
    }
    return 0;
}

int cll_wait_contains(pid_t pid, const cll_thread_syscall *call, const cll_wait_object *object) {
    cll_wait_object wait;
    cll_member_list list = {0};
    if (!cll_wait_object_read(pid, call, &wait)) return 0;
    if (wait.epoll >= 0 && wait.epoll == object->epoll) return 1;
    if (wait.epoll >= 0 && cll_epoll_members_each(pid, wait.epoll, CLL_WAITED_MAX, cll_visit_listed, &list) == -1) return 0;
    if (object->epoll >= 0) return cll_is_for(&wait, &list, object->epoll, POLLIN);
    uint32_t open = 0;
    for (uint32_t index = 0; index < object->count; index++) {
        char link[LINK_BYTES];
        const cll_waited *waited = &object->waited[index];
        ssize_t length = cll_link(pid, waited->descriptor, link);
        // What the program has closed nothing can come from.
        if (waited->identity == 0 || cll_identity(link, length) != waited->identity) continue;
        if (!cll_is_for(&wait, &list, waited->descriptor, waited->events)) return 0;
        open++;
    }
    return open > 0 && object->is_complete;
}
