#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"
#include "clr_thread_sample.h"
#include "epoll_members.h"
#include "foreign_descriptor.h"

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

// False also if a page is absent: the process itself (`userfaultfd`) or a file system in user space may have to provide it, and never do so.
static int clr_read_argument(pid_t pid, uint64_t address, void *buffer, size_t size) {
    return cll_memory_ready_bytes(pid, address, size) == size && cll_memory_read(pid, address, buffer, size) == size;
}

static int clr_read_poll(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    struct pollfd entries[CLR_WAITED_MAX];
    uint64_t total = call->arguments[1];
    size_t count = total < CLR_WAITED_MAX ? (size_t)total : CLR_WAITED_MAX;
    if (count > 0 && !clr_read_argument(pid, call->arguments[0], entries, count * sizeof(entries[0]))) return 0;
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
        if (address != 0 && words > 0 && !clr_read_argument(pid, address, sets[set], words * 8)) return 0;
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

// A ring with a registered index, which no other process can access, is not read.
static int clr_read_ring(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    enum { REGISTERED = 1 << 4 };  // IORING_ENTER_REGISTERED_RING
    if ((call->arguments[3] & REGISTERED) != 0) return 0;
    object->is_ring = 1;
    clr_add(object, pid, (int)call->arguments[0], 0);
    return 1;
}

int clr_wait_object_read(pid_t pid, const cll_thread_syscall *call, clr_wait_object *object) {
    object->epoll = clr_epoll_of_wait(call);
    object->is_ring = 0;
    object->count = 0;
    object->is_complete = 1;
    switch (clr_wait_kind(call->number)) {
        case CLR_WAIT_EPOLL: return 1;
        case CLR_WAIT_POLL: return clr_read_poll(pid, call, object);
        case CLR_WAIT_SELECT: return clr_read_select(pid, call, object);
        case CLR_WAIT_RING: return clr_read_ring(pid, call, object);
        default: return 0;
    }
}

int clr_is_closed(pid_t pid, const clr_wait_object *object) {
    char link[LINK_BYTES];
    if (object->epoll >= 0) return clr_link(pid, object->epoll, link) < 0 ? errno == ENOENT : !clr_is_epoll(link);
    for (uint32_t index = 0; index < object->count; index++) {
        ssize_t length = clr_link(pid, object->waited[index].descriptor, link);
        if (length < 0 ? errno != ENOENT : clr_identity(link, length) == object->waited[index].identity) return 0;
    }
    return object->is_complete && object->count > 0;
}

// MARK: Loops within handlers

typedef struct clr_member_list {
    uint32_t count;
    clr_epoll_member members[CLR_WAITED_MAX];
} clr_member_list;

static int clr_visit_listed(const clr_epoll_member *member, void *context) {
    clr_member_list *list = context;
    if (list->count < CLR_WAITED_MAX) list->members[list->count++] = *member;
    return 0;
}

// Whether a wait, or the instance that it is on, is for these events of a descriptor.
static int clr_is_for(const clr_wait_object *wait, const clr_member_list *list, int32_t descriptor, int32_t events) {
    for (uint32_t index = 0; index < wait->count; index++) {
        if (wait->waited[index].descriptor == descriptor && (wait->waited[index].events & events) == events) return 1;
    }
    for (uint32_t index = 0; index < list->count; index++) {
        if (list->members[index].descriptor == descriptor && ((int32_t)list->members[index].events & events) == events) return 1;
    }
    return 0;
}

int clr_wait_contains(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object) {
    clr_wait_object wait;
    clr_member_list list = {0};
    if (!clr_wait_object_read(pid, call, &wait)) return 0;
    if (wait.epoll >= 0 && wait.epoll == object->epoll) return 1;
    if (wait.epoll >= 0 && clr_epoll_members_each(pid, wait.epoll, CLR_WAITED_MAX, clr_visit_listed, &list) == -1) return 0;
    if (object->epoll >= 0) return clr_is_for(&wait, &list, object->epoll, POLLIN);
    uint32_t open = 0;
    for (uint32_t index = 0; index < object->count; index++) {
        char link[LINK_BYTES];
        const clr_waited *waited = &object->waited[index];
        ssize_t length = clr_link(pid, waited->descriptor, link);
        // A closed descriptor cannot deliver anything.
        if (waited->identity == 0 || clr_identity(link, length) != waited->identity) continue;
        if (!clr_is_for(&wait, &list, waited->descriptor, waited->events)) return 0;
        open++;
    }
    return open > 0 && object->is_complete;
}

// The identity of the terminal, if a thread sleeps in a read from it or a wait only for it; otherwise 0.
static uint64_t clr_asked_terminal(pid_t pid, const cll_thread_syscall *call) {
    clr_wait_object wait = {.epoll = -1};
    if (call->number == SYS_read) clr_add(&wait, pid, (int)call->arguments[0], POLLIN);
    else if (!clr_wait_object_read(pid, call, &wait) || wait.epoll >= 0 || !wait.is_complete) return 0;
    char link[LINK_BYTES];
    if (wait.count != 1) return 0;
    ssize_t length = clr_link(pid, wait.waited[0].descriptor, link);
    return length > 0 && clr_is_persons_terminal(link) ? clr_identity(link, length) : 0;
}

void clr_wait_object_subtract(clr_wait_object *object, const clr_wait_object *other) {
    if (object->epoll >= 0 || object->is_ring || other->epoll >= 0 || other->is_ring) return;
    uint32_t left = 0;
    for (uint32_t index = 0; index < object->count; index++) {
        clr_waited waited = object->waited[index];
        int is_known = 0;
        for (uint32_t known = 0; known < other->count; known++) {
            is_known |= other->waited[known].descriptor == waited.descriptor && other->waited[known].identity == waited.identity;
        }
        if (!is_known) object->waited[left++] = waited;
    }
    object->count = left;
}

int clr_wait_asks_user(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object) {
    uint64_t terminal = clr_asked_terminal(pid, call);
    if (terminal == 0 || object->is_ring) return 0;
    for (uint32_t index = 0; index < object->count; index++) {
        if (object->waited[index].identity == terminal) return 1;
    }
    clr_member_list list = {0};
    if (object->epoll < 0 || clr_epoll_members_each(pid, object->epoll, CLR_WAITED_MAX, clr_visit_listed, &list) == -1) return 0;
    for (uint32_t index = 0; index < list.count; index++) {
        char link[LINK_BYTES];
        ssize_t length = clr_link(pid, list.members[index].descriptor, link);
        if (length > 0 && clr_identity(link, length) == terminal) return 1;
    }
    return 0;
}
