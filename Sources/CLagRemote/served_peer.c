// Whether a process is there for one connection, a session that was forked for a client, as PostgreSQL's backends and sshd's are; or for none, as
// the helpers that servers fork for what is to be done now and then.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "cll_procfs_text.h"

static int clr_visit_second_thread(unsigned tid, void *context) { return (pid_t)tid != *(const pid_t *)context; }

// The first port that connect(2) chooses by itself (ip_sysctl, ip_local_port_range); below it a port was asked for, as a server's is.
static unsigned clr_first_chosen_port(void) {
    static unsigned first;
    unsigned known = __atomic_load_n(&first, __ATOMIC_RELAXED);
    if (known != 0) return known;
    char text[32] = {0};
    int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof(text) - 1) < 0) text[0] = 0;
        close(fd);
    }
    const char *at = text;
    known = (unsigned)cll_parse_number(&at, 10);
    if (known == 0) known = 32768;
    __atomic_store_n(&first, known, __ATOMIC_RELAXED);
    return known;
}

// A socket's own address as far as it says where connections come by: a name of this machine's own, or a port in host order; neither: 0 and 0.
typedef struct clr_own_address {
    int has_name;
    uint16_t port;
} clr_own_address;

static clr_own_address clr_address_of(int socket) {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_storage room;
    } own;
    socklen_t length = sizeof(own);
    if (getsockname(socket, &own.any, &length) != 0) return (clr_own_address){0};
    switch (own.any.sa_family) {
        case AF_UNIX: return (clr_own_address){.has_name = length > offsetof(struct sockaddr_un, sun_path)};
        case AF_INET: return (clr_own_address){.port = ntohs(own.ip4.sin_port)};
        case AF_INET6: return (clr_own_address){.port = ntohs(own.ip6.sin6_port)};
        default: return (clr_own_address){0};
    }
}

static int clr_is_connected(int socket) {
    struct sockaddr_storage other;
    socklen_t length = sizeof(other);
    return getpeername(socket, (struct sockaddr *)&other, &length) == 0;
}

// A connected socket that accept(2) made has its listener's address: a name, or a server's port. One that connect(2) made has none, or one that the
// kernel chose.
static int clr_was_accepted(int socket) {
    if (!clr_is_connected(socket)) return 0;
    clr_own_address own = clr_address_of(socket);
    return own.has_name || (own.port != 0 && own.port < clr_first_chosen_port());
}

// What a member of an epoll instance is to this question.
enum { MEMBER_QUIET, MEMBER_OWN, MEMBER_CLIENT, MEMBER_OTHER };

static int clr_member(int pidfd, pid_t pid, int descriptor) {
    static const char *const own[] = {
        "pipe:", "anon_inode:[signalfd]", "anon_inode:[pidfd]", "anon_inode:inotify", "anon_inode:[eventfd]", "anon_inode:[timerfd]",
    };
    enum { QUIET = 4 };
    char link[LINK_BYTES];
    if (clr_link(pid, descriptor, link) < 0) return MEMBER_OTHER;
    for (size_t index = 0; index < sizeof(own) / sizeof(own[0]); index++) {
        if (clr_begins(link, own[index])) return index < QUIET ? MEMBER_QUIET : MEMBER_OWN;
    }
    if (!clr_begins(link, "socket:")) return MEMBER_OTHER;
    int duplicate = clr_duplicate(pidfd, descriptor);
    if (duplicate < 0) return MEMBER_OTHER;
    int was_accepted = clr_was_accepted(duplicate);
    close(duplicate);
    return was_accepted ? MEMBER_CLIENT : MEMBER_OTHER;
}

typedef struct clr_owner {
    int pidfd;
    pid_t pid;
} clr_owner;

static int clr_is_listener(const clr_owner *owner, int descriptor) {
    return clr_listens(owner->pidfd, owner->pid, descriptor) > 0;
}

static int clr_visit_listener(unsigned descriptor, void *context) {
    const clr_owner *owner = context;
    return clr_listens(owner->pidfd, owner->pid, (int)descriptor) != 0;
}

static int clr_visit_accepting(const clr_epoll_member *member, void *context) { return clr_is_listener(context, member->descriptor); }

int clr_epoll_accepts(int pidfd, pid_t pid, int32_t epoll) {
    enum { MOST_MEMBERS = 256 };
    clr_owner owner = {.pidfd = pidfd, .pid = pid};
    return clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_accepting, &owner) == 1;
}

typedef struct clr_members {
    clr_owner owner;
    int clients, own, quiet, others;
} clr_members;

static int clr_visit_served(const clr_epoll_member *member, void *context) {
    clr_members *members = context;
    switch (clr_member(members->owner.pidfd, members->owner.pid, member->descriptor)) {
        case MEMBER_QUIET: members->quiet++; break;
        case MEMBER_OWN: members->own++; break;
        case MEMBER_CLIENT: members->clients++; break;
        default: members->others++;
    }
    return members->others != 0;
}

static int clr_program(pid_t pid, struct stat *file) {
    char path[40] = "/proc/";
    memcpy(cll_append_number(path + 6, (unsigned)pid), "/exe", 5);
    return stat(path, file) == 0;
}

// Whether the process was forked by one that runs the same program.
static int clr_is_forked(pid_t pid) {
    char text[1024];
    if (cll_procfs_read(pid, 0, "status", text, sizeof(text)) <= 0) return 0;
    const char *parent = cll_status_field(text, "\nPPid:\t");
    struct stat own, theirs;
    if (parent == NULL || !clr_program(pid, &own) || !clr_program((pid_t)cll_parse_number(&parent, 10), &theirs)) return 0;
    return own.st_ino == theirs.st_ino && own.st_dev == theirs.st_dev;
}

int clr_service(int pidfd, pid_t pid, int32_t epoll) {
    enum { MOST_THREADS = 1, MOST_MEMBERS = 8, MOST_DESCRIPTORS = 1024 };
    if (cll_procfs_each(pid, "task", MOST_THREADS, clr_visit_second_thread, &pid) != 0) return CLR_SERVES_LOOP;
    clr_members members = {.owner = {.pidfd = pidfd, .pid = pid}};
    // A longer list is a loop's.
    if (clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_served, &members) != 0) return CLR_SERVES_LOOP;
    if (members.clients == 0 && members.own == 0) {
        if (!clr_is_forked(pid)) return CLR_SERVES_LOOP;
        return members.quiet == 0 ? CLR_SERVES_UNKNOWN : CLR_SERVES_ITSELF;
    }
    // A listener that is out of the set for a while is a server's all the same.
    int serves = members.clients == 1 && cll_procfs_each(pid, "fd", MOST_DESCRIPTORS, clr_visit_listener, &members.owner) == 0;
    return serves ? CLR_SERVES_ONE_PEER : CLR_SERVES_LOOP;
}

static int clr_visit_wake_up(const clr_epoll_member *member, void *context) {
    char link[LINK_BYTES];
    return clr_link(*(const pid_t *)context, member->descriptor, link) < 0 || !clr_begins(link, "anon_inode:[eventfd]");
}

int clr_has_wake_ups_alone(pid_t pid, int32_t epoll) {
    enum { MOST_MEMBERS = 4 };
    return clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_wake_up, &pid) == 0;
}

// MARK: Turns among processes

enum { MOST_LISTENERS = 8 };

typedef struct clr_listeners {
    clr_owner owner;
    int count, have_name;
    int unknown;  // what a socket counts as that cannot be asked: 1, a client
    uint16_t ports[MOST_LISTENERS];
} clr_listeners;

// Takes down a listener; 1: it is none, or one of unknown clients.
static int clr_add_listener(clr_listeners *listeners, int descriptor) {
    if (listeners->count == MOST_LISTENERS || !clr_is_listener(&listeners->owner, descriptor)) return 1;
    int duplicate = clr_duplicate(listeners->owner.pidfd, descriptor);
    if (duplicate < 0) return 1;
    clr_own_address own = clr_address_of(duplicate);
    listeners->ports[listeners->count++] = own.port;
    listeners->have_name |= own.has_name;
    close(duplicate);
    // Of another family, or not bound: who came by it cannot be known.
    return !own.has_name && own.port == 0;
}

static int clr_visit_listed(const clr_epoll_member *member, void *context) { return clr_add_listener(context, member->descriptor); }

// Whether a descriptor is a connection that came by one of the listeners.
static int clr_visit_client(unsigned descriptor, void *context) {
    const clr_listeners *listeners = context;
    char link[LINK_BYTES];
    if (clr_link(listeners->owner.pid, (int)descriptor, link) < 0 || !clr_begins(link, "socket:")) return 0;
    int duplicate = clr_duplicate(listeners->owner.pidfd, (int)descriptor), is_client = 0;
    if (duplicate < 0) return listeners->unknown;
    if (clr_is_connected(duplicate)) {
        clr_own_address own = clr_address_of(duplicate);
        is_client = own.has_name && listeners->have_name;
        for (int index = 0; index < listeners->count; index++) is_client |= own.port != 0 && listeners->ports[index] == own.port;
    }
    close(duplicate);
    return is_client;
}

enum { MOST_DESCRIPTORS = 1024 };

// Whether a client is connected that came by `object`; -1: something else than new connections comes from there, or that cannot be seen.
static int clr_has_client(clr_owner owner, const clr_wait_object *object, int unknown) {
    clr_listeners listeners = {.owner = owner, .unknown = unknown};
    if (object->epoll >= 0) {
        if (clr_epoll_members_each(owner.pid, object->epoll, MOST_LISTENERS, clr_visit_listed, &listeners) != 0) return -1;
    } else if (object->is_ring || !object->is_complete) {
        return -1;
    } else {
        for (uint32_t index = 0; index < object->count; index++) {
            if (clr_add_listener(&listeners, object->waited[index].descriptor)) return -1;
        }
    }
    if (listeners.count == 0) return -1;
    int found = cll_procfs_each(owner.pid, "fd", MOST_DESCRIPTORS, clr_visit_client, &listeners);
    return found == 0 || found == 1 ? found : -1;
}

int clr_has_no_client(int pidfd, pid_t pid, const clr_wait_object *object) {
    return clr_has_client((clr_owner){.pidfd = pidfd, .pid = pid}, object, 1) == 0;
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

// MARK: Clients that wait

static int clr_has_client_at(const clr_owner *owner, int descriptor) {
    if (!clr_is_listener(owner, descriptor)) return 0;
    struct pollfd listener = {.fd = clr_duplicate(owner->pidfd, descriptor), .events = POLLIN};
    if (listener.fd < 0) return 0;
    int is_ready = poll(&listener, 1, 0) == 1 && (listener.revents & POLLIN) != 0;
    close(listener.fd);
    return is_ready;
}

static int clr_visit_awaited(const clr_epoll_member *member, void *context) { return clr_has_client_at(context, member->descriptor); }

int clr_has_waiting_client(int pidfd, pid_t pid, const clr_wait_object *object) {
    enum { MOST_MEMBERS = 256 };
    clr_owner owner = {.pidfd = pidfd, .pid = pid};
    if (object->epoll >= 0) return clr_epoll_members_each(pid, object->epoll, MOST_MEMBERS, clr_visit_awaited, &owner) == 1;
    for (uint32_t index = 0; index < object->count && !object->is_ring; index++) {
        clr_waited waited = object->waited[index];
        char link[LINK_BYTES];
        ssize_t length = clr_link(pid, waited.descriptor, link);
        // The number may be another one's by now.
        if (length < 0 || clr_identity(link, length) != waited.identity || !clr_has_client_at(&owner, waited.descriptor)) continue;
        clr_listeners listeners = {.owner = owner};
        if (clr_add_listener(&listeners, waited.descriptor)) continue;
        if (cll_procfs_each(pid, "fd", MOST_DESCRIPTORS, clr_visit_client, &listeners) == 1) return 1;
    }
    return 0;
}
