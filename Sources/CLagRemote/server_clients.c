// The clients of a server: accepted ones, and waiting ones.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "server_socket.h"
#include "cll_procfs_text.h"

enum { MOST_LISTENERS = 8 };

typedef struct clr_listeners {
    clr_owner owner;
    int count, have_name;
    int unknown;  // how to count a socket that cannot be queried: 1, as a client
    uint16_t ports[MOST_LISTENERS];
} clr_listeners;

// Records a listener; 1: it is not a listener, or its clients cannot be determined.
static int clr_add_listener(clr_listeners *listeners, int descriptor) {
    if (listeners->count == MOST_LISTENERS || !clr_is_listener(&listeners->owner, descriptor)) return 1;
    int duplicate = clr_duplicate(listeners->owner.pidfd, descriptor);
    if (duplicate < 0) return 1;
    clr_own_address own = clr_address_of(duplicate);
    listeners->ports[listeners->count++] = own.port;
    listeners->have_name |= own.has_name;
    close(duplicate);
    // Another family, or not bound: its connections cannot be recognised.
    return !own.has_name && own.port == 0;
}

static int clr_visit_listed(const clr_epoll_member *member, void *context) { return clr_add_listener(context, member->descriptor); }

// Whether one of the listeners has the address's port.
static int clr_has_port(const clr_listeners *listeners, clr_own_address address) {
    for (int index = 0; index < listeners->count; index++) {
        if (address.port != 0 && listeners->ports[index] == address.port) return 1;
    }
    return 0;
}

// Whether a descriptor is a connection that was accepted at one of the listeners.
static int clr_visit_client(unsigned descriptor, void *context) {
    const clr_listeners *listeners = context;
    char link[LINK_BYTES];
    if (clr_link(listeners->owner.pid, (int)descriptor, link) < 0 || !clr_begins(link, "socket:")) return 0;
    int duplicate = clr_duplicate(listeners->owner.pidfd, (int)descriptor), is_client = 0;
    if (duplicate < 0) return listeners->unknown;
    if (clr_is_connected(duplicate)) {
        clr_own_address own = clr_address_of(duplicate);
        is_client = (own.has_name && listeners->have_name) || clr_has_port(listeners, own);
    }
    close(duplicate);
    return is_client;
}

enum { MOST_DESCRIPTORS = 1024, MOST_MEMBERS = 256 };

// Records the listeners of `object`; 0: it can deliver something other than new connections, or this cannot be determined.
static int clr_take_listeners(clr_listeners *listeners, const clr_wait_object *object) {
    if (object->epoll >= 0) {
        pid_t pid = listeners->owner.pid;
        if (clr_epoll_members_each(pid, object->epoll, MOST_LISTENERS, clr_visit_listed, listeners) != 0) return 0;
    } else if (object->is_ring || !object->is_complete) {
        return 0;
    } else {
        for (uint32_t index = 0; index < object->count; index++) {
            if (clr_add_listener(listeners, object->waited[index].descriptor)) return 0;
        }
    }
    return listeners->count > 0;
}

// Whether a client is connected that was accepted at `object`; -1: it can deliver something other than new connections, or this cannot be determined.
static int clr_has_client(clr_owner owner, const clr_wait_object *object, int unknown) {
    clr_listeners listeners = {.owner = owner, .unknown = unknown};
    if (!clr_take_listeners(&listeners, object)) return -1;
    int found = cll_procfs_each(owner.pid, "fd", MOST_DESCRIPTORS, clr_visit_client, &listeners);
    return found == 0 || found == 1 ? found : -1;
}

int clr_has_no_client(int pidfd, pid_t pid, const clr_wait_object *object) {
    return clr_has_client((clr_owner){.pidfd = pidfd, .pid = pid}, object, 1) == 0;
}

int clr_waits_for_clients_alone(int pidfd, pid_t pid, const clr_wait_object *object) {
    clr_listeners listeners = {.owner = {.pidfd = pidfd, .pid = pid}};
    return clr_take_listeners(&listeners, object);
}

int clr_awaits_client(int pidfd, pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object) {
    int32_t descriptor = clr_awaited_descriptor(pid, call);
    clr_listeners listeners = {.owner = {.pidfd = pidfd, .pid = pid}};
    return descriptor >= 0 && clr_take_listeners(&listeners, object) && clr_visit_client((unsigned)descriptor, &listeners);
}

typedef struct clr_descriptors {
    const int32_t *found;
    uint32_t count;
} clr_descriptors;

static int clr_has_descriptor(const clr_descriptors *descriptors, int32_t descriptor) {
    for (uint32_t index = 0; index < descriptors->count; index++) {
        if (descriptors->found[index] == descriptor) return 1;
    }
    return 0;
}

static int clr_visit_same(const clr_epoll_member *member, void *context) { return clr_has_descriptor(context, member->descriptor); }

int clr_waits_at(pid_t pid, const clr_wait_object *object, const int32_t *found, uint32_t count) {
    clr_descriptors descriptors = {.found = found, .count = count};
    if (object->epoll >= 0) {
        int result = clr_epoll_members_each(pid, object->epoll, MOST_MEMBERS, clr_visit_same, &descriptors);
        return result < 0 ? -1 : result;
    }
    if (object->is_ring) return 0;
    for (uint32_t index = 0; index < object->count; index++) {
        if (clr_has_descriptor(&descriptors, object->waited[index].descriptor)) return 1;
    }
    return object->is_complete ? 0 : -1;
}

int clr_accepts_for(pid_t pid, const cll_thread_syscall *call, const clr_wait_object *object) {
    int32_t listener = clr_listener_of_accept(call);
    return listener >= 0 && clr_waits_at(pid, object, &listener, 1) == 1;
}

static int clr_visit_accepting_thread(unsigned tid, void *context) {
    const clr_owner *owner = context;
    cll_thread_syscall call;
    clr_wait_object object;
    if (cll_procfs_syscall(owner->pid, (pid_t)tid, &call) != CLL_SYSCALL_BLOCKED) return 0;
    return clr_wait_object_read(owner->pid, &call, &object) && clr_has_client(*owner, &object, 0) == 1;
}

int clr_serves_by_threads(int pidfd, pid_t pid) {
    enum { MOST_THREADS = 64 };
    clr_owner owner = {.pidfd = pidfd, .pid = pid};
    if (cll_procfs_each(pid, "task", 1, clr_visit_second_thread, &pid) == 0) return 0;
    return cll_procfs_each(pid, "task", MOST_THREADS, clr_visit_accepting_thread, &owner) == 1;
}

// MARK: Waiting clients

// Whether data on a socket comes from a client: it listens, or has the address of a listening socket.
static int clr_is_clients(const clr_listeners *listeners, int socket) {
    if (clr_takes_connections(socket)) return 1;
    if (clr_is_display(socket)) return 1;
    clr_own_address own = clr_address_of(socket);
    return own.has_name || (own.port != 0 && own.port < clr_first_chosen_port()) || clr_has_port(listeners, own);
}

// A socket pair without names: the program's own, or its other end is in the parent process.
static int clr_is_pair(int socket) {
    struct sockaddr_un own, other;
    socklen_t own_length = sizeof(own), other_length = sizeof(other);
    return getsockname(socket, (struct sockaddr *)&own, &own_length) == 0 && own.sun_family == AF_UNIX
        && own_length == sizeof(sa_family_t) && getpeername(socket, (struct sockaddr *)&other, &other_length) == 0
        && other_length == sizeof(sa_family_t);
}

// The result of `clr_client_waits` for one descriptor.
static int clr_client_of(const clr_listeners *listeners, const clr_waited *waited) {
    const clr_owner *owner = &listeners->owner;
    char link[LINK_BYTES];
    ssize_t length = clr_link(owner->pid, waited->descriptor, link);
    // The number may belong to another file by now.
    if (length < 0 || clr_identity(link, length) != waited->identity) return CLR_CLIENT_UNKNOWN;
    int is_terminal = clr_is_persons_terminal(link), is_pipe = clr_begins(link, "pipe:");
    if (!is_terminal && !is_pipe && !clr_begins(link, "socket:")) return CLR_CLIENT_NONE;
    struct pollfd entry = {.fd = clr_duplicate(owner->pidfd, waited->descriptor), .events = (short)waited->events};
    if (entry.fd < 0) return CLR_CLIENT_UNKNOWN;
    int found = CLR_CLIENT_NONE;
    if (poll(&entry, 1, 0) == 1) {
        if (is_pipe) found = clr_has_both_ends(owner->pid, waited->identity) ? CLR_CLIENT_NONE : CLR_CLIENT_UNKNOWN;
        else if (is_terminal || clr_is_clients(listeners, entry.fd)) found = CLR_CLIENT_WAITS;
        else if (clr_is_pair(entry.fd)) found = CLR_CLIENT_UNKNOWN;
    }
    close(entry.fd);
    return found;
}

int clr_client_waits(int pidfd, pid_t pid, const clr_wait_object *object) {
    if (object->epoll >= 0 || object->is_ring) return CLR_CLIENT_WAITS;
    clr_listeners listeners = {.owner = {.pidfd = pidfd, .pid = pid}};
    for (uint32_t index = 0; index < object->count; index++) clr_add_listener(&listeners, object->waited[index].descriptor);
    int found = object->is_complete ? CLR_CLIENT_NONE : CLR_CLIENT_UNKNOWN;
    for (uint32_t index = 0; index < object->count && found != CLR_CLIENT_WAITS; index++) {
        int one = clr_client_of(&listeners, &object->waited[index]);
        if (one != CLR_CLIENT_NONE) found = one;
    }
    return found;
}

static int clr_has_client_at(const clr_owner *owner, int descriptor) {
    if (!clr_is_listener(owner, descriptor)) return 0;
    struct pollfd listener = {.fd = clr_duplicate(owner->pidfd, descriptor), .events = POLLIN};
    if (listener.fd < 0) return 0;
    int is_ready = poll(&listener, 1, 0) == 1 && (listener.revents & POLLIN) != 0;
    close(listener.fd);
    return is_ready;
}

static int clr_visit_awaited(const clr_epoll_member *member, void *context) { return clr_has_client_at(context, member->descriptor); }

static int clr_has_other_thread(pid_t pid) { return cll_procfs_each(pid, "task", 1, clr_visit_second_thread, &pid) != 0; }

static int clr_visit_one_shot(const clr_epoll_member *member, void *context) {
    return (member->events & EPOLLONESHOT) != 0 && clr_is_listener(context, member->descriptor);
}

int clr_has_one_shot_listeners(int pidfd, pid_t pid, int32_t epoll) {
    clr_owner owner = {.pidfd = pidfd, .pid = pid};
    return !clr_has_other_thread(pid) && clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_one_shot, &owner) == 1;
}

typedef struct clr_held {
    clr_owner owner;
    clr_wait_object *listeners;
} clr_held;

// Records a listening socket with a waiting client, if the instance has reported it, and is to report it again only on request. 1: no space.
static int clr_visit_held(const clr_epoll_member *member, void *context) {
    const clr_held *held = context;
    // The kernel keeps these when it has reported the event (EP_PRIVATE_BITS, fs/eventpoll.c).
    uint32_t kept = EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE;
    if ((member->events & EPOLLONESHOT) == 0 || (member->events & ~kept) != 0) return 0;
    char link[LINK_BYTES];
    ssize_t length = clr_link(held->owner.pid, member->descriptor, link);
    if (length < 0 || !clr_has_client_at(&held->owner, member->descriptor)) return 0;
    if (held->listeners->count == CLR_WAITED_MAX) return 1;
    held->listeners->waited[held->listeners->count++] =
        (clr_waited){.descriptor = member->descriptor, .events = POLLIN, .identity = clr_identity(link, length)};
    return 0;
}

int clr_held_listeners(int pidfd, pid_t pid, int32_t epoll, clr_wait_object *listeners) {
    clr_held held = {.owner = {.pidfd = pidfd, .pid = pid}, .listeners = listeners};
    listeners->epoll = -1;
    listeners->count = 0;
    if (clr_has_other_thread(pid)) return 0;
    return clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_held, &held) == 0 && listeners->count > 0;
}

int clr_has_waiting_client(int pidfd, pid_t pid, const clr_wait_object *object) {
    clr_owner owner = {.pidfd = pidfd, .pid = pid};
    if (object->epoll >= 0) return clr_epoll_members_each(pid, object->epoll, MOST_MEMBERS, clr_visit_awaited, &owner) == 1;
    for (uint32_t index = 0; index < object->count && !object->is_ring; index++) {
        clr_waited waited = object->waited[index];
        char link[LINK_BYTES];
        ssize_t length = clr_link(pid, waited.descriptor, link);
        // The number may belong to another file by now.
        if (length < 0 || clr_identity(link, length) != waited.identity || !clr_has_client_at(&owner, waited.descriptor)) continue;
        clr_listeners listeners = {.owner = owner};
        if (clr_add_listener(&listeners, waited.descriptor)) continue;
        if (cll_procfs_each(pid, "fd", MOST_DESCRIPTORS, clr_visit_client, &listeners) == 1) return 1;
    }
    return 0;
}
