// Whether a process serves one connection, that is a session forked for a client (as PostgreSQL and sshd do); or none, such as
// the helpers that servers fork for periodic work.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "server_socket.h"
#include "cll_procfs_text.h"

// A connected socket from accept(2) has its listener's address: a name, or a server's port. A socket from connect(2) has none, or one that the
// kernel chose.
static int clr_was_accepted(int socket) {
    if (!clr_is_connected(socket)) return 0;
    clr_own_address own = clr_address_of(socket);
    return own.has_name || (own.port != 0 && own.port < clr_first_chosen_port());
}

// The kinds of members of an epoll instance.
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
    // A longer list means a loop.
    if (clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_served, &members) != 0) return CLR_SERVES_LOOP;
    if (members.clients == 0 && members.own == 0) {
        if (!clr_is_forked(pid)) return CLR_SERVES_LOOP;
        return members.quiet == 0 ? CLR_SERVES_UNKNOWN : CLR_SERVES_ITSELF;
    }
    // A listener that is temporarily out of the set still means a server.
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
