// Listening sockets that several loops wait on: whether only these are ready for one loop, and which other processes accept from them.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "epoll_members.h"
#include "foreign_descriptor.h"

enum { MOST_MEMBERS = CLR_SOCKETS_MAX };

typedef struct clr_ready {
    int pidfd;
    pid_t pid;
    clr_wait_object *listeners;
} clr_ready;

enum { READY_OTHERWISE = 1, READY_UNKNOWN = 2 };

// Records a descriptor that is a ready listening socket. READY_OTHERWISE: another one is ready; READY_UNKNOWN: not known, or there is no space.
static int clr_add_ready(const clr_ready *ready, int descriptor, int events) {
    char link[LINK_BYTES];
    ssize_t length = clr_link(ready->pid, descriptor, link);
    if (length < 0 || !clr_may_duplicate(link)) return 0;
    struct pollfd entry = {.fd = clr_duplicate(ready->pidfd, descriptor), .events = (short)events};
    if (entry.fd < 0) return READY_UNKNOWN;
    int is_ready = poll(&entry, 1, 0) == 1 && entry.revents != 0;
    int listens = is_ready && clr_takes_connections(entry.fd);
    close(entry.fd);
    if (!is_ready) return 0;
    clr_wait_object *found = ready->listeners;
    if (!listens) return READY_OTHERWISE;
    if (found->count == CLR_WAITED_MAX) return READY_UNKNOWN;
    found->waited[found->count++] = (clr_waited){.descriptor = descriptor, .events = POLLIN, .identity = clr_identity(link, length)};
    return 0;
}

static int clr_visit_ready(const clr_epoll_member *member, void *context) {
    return clr_add_ready(context, member->descriptor, (int)(member->events & 0xffff));
}

int clr_ready_listeners(int pidfd, pid_t pid, const clr_wait_object *object, clr_wait_object *listeners) {
    clr_ready ready = {.pidfd = pidfd, .pid = pid, .listeners = listeners};
    listeners->epoll = -1;
    listeners->count = 0;
    if (object->is_ring) return 0;
    int found = 0;
    if (object->epoll >= 0) {
        found = clr_epoll_members_each(pid, object->epoll, MOST_MEMBERS, clr_visit_ready, &ready);
    } else {
        if (!object->is_complete) return -1;
        for (uint32_t index = 0; index < object->count && index < CLR_WAITED_MAX && found == 0; index++) {
            found = clr_add_ready(&ready, object->waited[index].descriptor, object->waited[index].events);
        }
    }
    if (found == READY_OTHERWISE) return 0;
    return found == 0 ? listeners->count > 0 : -1;
}

// MARK: Other waiting processes

typedef struct clr_identities {
    pid_t pid;
    uint64_t *found;
    int count;
} clr_identities;

static int clr_visit_identity(const clr_epoll_member *member, void *context) {
    clr_identities *identities = context;
    char link[LINK_BYTES];
    ssize_t length = clr_link(identities->pid, member->descriptor, link);
    if (length >= 0 && clr_begins(link, "socket:")) identities->found[identities->count++] = clr_identity(link, length);
    return 0;
}

int clr_wait_sockets(pid_t pid, const clr_wait_object *object, uint64_t found[CLR_SOCKETS_MAX]) {
    clr_identities identities = {.pid = pid, .found = found};
    if (object->epoll >= 0) {
        const int result = clr_epoll_members_each(pid, object->epoll, MOST_MEMBERS, clr_visit_identity, &identities);
        return result < 0 ? -1 : identities.count;
    }
    for (uint32_t index = 0; index < object->count && index < CLR_WAITED_MAX; index++) found[index] = object->waited[index].identity;
    return (int)object->count;
}

int clr_has_sockets(pid_t pid, const clr_wait_object *sockets) {
    for (uint32_t index = 0; index < sockets->count; index++) {
        char link[LINK_BYTES];
        ssize_t length = clr_link(pid, sockets->waited[index].descriptor, link);
        if (length >= 0 && clr_identity(link, length) == sockets->waited[index].identity) return 1;
    }
    return 0;
}
