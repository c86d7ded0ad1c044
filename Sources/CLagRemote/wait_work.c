// Whether there is work for the loop that waits on an object: its descriptors are polled here, with duplicates.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cll_procfs_text.h"
#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "server_socket.h"
#include "signal_members.h"

static clr_work clr_unknown(int reason, int kind) {
    return (clr_work){.state = CLR_WORK_UNKNOWN, .reason = reason, .kind = kind};
}

static clr_work clr_poll_epoll(int pidfd, pid_t pid, pid_t tid, int32_t epoll, clr_signal_members *known) {
    char link[LINK_BYTES];
    if (clr_link(pid, epoll, link) < 0) {
        if (errno == ENOENT) return (clr_work){.kind = CLR_OBJECT_GONE};
        return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_UNKNOWN);
    }
    if (!clr_is_epoll(link)) return (clr_work){.kind = CLR_OBJECT_GONE};
    int risk = clr_members_risk(pid, tid, epoll, known);
    if (risk != CLR_MEMBERS_HARMLESS) {
        int is_edge, state = clr_members_state(pidfd, pid, tid, epoll, &is_edge);
        int reason = is_edge ? CLR_UNKNOWN_EDGE : risk == CLR_MEMBERS_SIGNALS ? CLR_UNKNOWN_SIGNALFD : CLR_UNKNOWN_DESCRIPTORS;
        return state == CLR_WORK_UNKNOWN ? clr_unknown(reason, CLR_OBJECT_LOOP) : (clr_work){.state = state, .kind = CLR_OBJECT_LOOP};
    }
    int duplicate = clr_duplicate(pidfd, epoll);
    if (duplicate < 0) return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_LOOP);
    clr_work work = {.kind = CLR_OBJECT_LOOP};
    // It may be another file by now.
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

// The kind of a single awaited descriptor.
static int clr_kind_of_one(int duplicate, const char *link) {
    if (clr_is_terminal(link)) return CLR_OBJECT_TERMINAL;
    if (clr_begins(link, "pipe:")) return CLR_OBJECT_PEER;
    if (!clr_begins(link, "socket:")) return CLR_OBJECT_LOOP;
    if (clr_is_display(duplicate)) return CLR_OBJECT_TERMINAL;
    return clr_is_connected(duplicate) ? CLR_OBJECT_PEER : CLR_OBJECT_LOOP;
}

typedef struct clr_ends {
    pid_t pid;
    uint64_t identity;
    unsigned found;  // the bit 1 << mode for each access mode of open(2)
} clr_ends;

enum { BOTH_ENDS = 1 << O_RDONLY | 1 << O_WRONLY };

static int clr_visit_end(unsigned descriptor, void *context) {
    clr_ends *ends = context;
    char link[LINK_BYTES], name[24] = "fdinfo/", text[256];
    if (clr_identity(link, clr_link(ends->pid, (int)descriptor, link)) != ends->identity) return 0;
    *cll_append_number(name + 7, descriptor) = 0;
    // A duplicate of one end is not the other one.
    const char *flags = cll_procfs_read(ends->pid, 0, name, text, sizeof(text)) > 0 ? cll_status_field(text, "\nflags:\t") : NULL;
    if (flags != NULL) ends->found |= 1U << (cll_parse_number(&flags, 8) & O_ACCMODE);
    return (ends->found & BOTH_ENDS) == BOTH_ENDS;
}

int clr_has_both_ends(pid_t pid, uint64_t identity) {
    enum { MOST_DESCRIPTORS = 64 };
    clr_ends ends = {.pid = pid, .identity = identity};
    return cll_procfs_each(pid, "fd", MOST_DESCRIPTORS, clr_visit_end, &ends) == 1;
}

static clr_work clr_poll_set(int pidfd, pid_t pid, const clr_wait_object *object) {
    clr_work work = {.kind = object->count > 0 ? CLR_OBJECT_LOOP : CLR_OBJECT_TIMER};
    struct pollfd entries[CLR_WAITED_MAX];
    uint32_t is_eventfd[CLR_WAITED_MAX];
    uint32_t asked = 0, gone = 0, refused = 0, pipes = 0, standard = 0;
    uint64_t other_pipe = 0;
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
        if (clr_begins(link, "pipe:")) {
            pipes++;
            if (waited->descriptor <= STDERR_FILENO) standard++;
            else other_pipe = waited->identity;
        }
        if (!clr_may_duplicate(link)) continue;
        int duplicate = clr_duplicate(pidfd, waited->descriptor);
        if (duplicate < 0) {
            refused++;
            continue;
        }
        if (count == 1 && object->is_complete) work.kind = clr_kind_of_one(duplicate, link);
        is_eventfd[asked] = clr_begins(link, "anon_inode:[eventfd]") != 0;
        entries[asked++] = (struct pollfd){.fd = duplicate, .events = (short)waited->events};
    }
    // A filter program: in addition to its input or output it waits for its own pipe, which its signal handlers write to. It serves the process at the
    // other end of its input or output. (The second pipe of a supervisor belongs to a child.)
    if (count == 2 && pipes == 2 && standard == 1 && object->is_complete && clr_has_both_ends(pid, other_pipe)) work.kind = CLR_OBJECT_PEER;
    int ready = asked > 0 ? poll(entries, asked, 0) : 0;
    work.is_wake_up = ready > 0;
    for (uint32_t index = 0; index < asked; index++) {
        if (ready > 0 && entries[index].revents != 0 && !is_eventfd[index]) work.is_wake_up = 0;
        close(entries[index].fd);
    }
    if (ready > 0) work.state = CLR_WORK_PENDING;
    else if (count > 0 && gone == count && object->is_complete) work.kind = CLR_OBJECT_GONE;
    else if (refused > 0) work = clr_unknown(CLR_UNKNOWN_REFUSED, work.kind);
    else if (asked + gone < count || !object->is_complete) work = clr_unknown(CLR_UNKNOWN_DESCRIPTORS, work.kind);
    return work;
}

// The state of a ring in /proc: how far its completions go, and how far the program has taken them.
static clr_work clr_poll_ring(pid_t pid, const clr_wait_object *object) {
    char link[LINK_BYTES], name[24] = "fdinfo/", text[512];
    int descriptor = object->waited[0].descriptor;
    ssize_t length = clr_link(pid, descriptor, link);
    if (length < 0 && errno != ENOENT) return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_UNKNOWN);
    if (length < 0 || clr_identity(link, length) != object->waited[0].identity) return (clr_work){.kind = CLR_OBJECT_GONE};
    *cll_append_number(name + 7, (unsigned)descriptor) = 0;
    if (cll_procfs_read(pid, 0, name, text, sizeof(text)) <= 0) return clr_unknown(CLR_UNKNOWN_REFUSED, CLR_OBJECT_LOOP);
    const char *head = cll_status_field(text, "\nCqHead:\t"), *tail = cll_status_field(text, "\nCqTail:\t");
    if (head == NULL || tail == NULL) return clr_unknown(CLR_UNKNOWN_DESCRIPTORS, CLR_OBJECT_LOOP);
    clr_work work = {.kind = CLR_OBJECT_LOOP, .is_ring = 1, .fetched = (uint32_t)cll_parse_number(&head, 10)};
    work.state = work.fetched != (uint32_t)cll_parse_number(&tail, 10) ? CLR_WORK_PENDING : CLR_WORK_NONE;
    return work;
}

void clr_wait_object_poll(int pidfd, pid_t pid, pid_t tid, const clr_wait_object *object, clr_signal_members *known, clr_work *work) {
    int saved = errno;
    *work = object->is_ring != 0 ? clr_poll_ring(pid, object)
        : object->epoll >= 0 ? clr_poll_epoll(pidfd, pid, tid, object->epoll, known)
                             : clr_poll_set(pidfd, pid, object);
    errno = saved;
}
