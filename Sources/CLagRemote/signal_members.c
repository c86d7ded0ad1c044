#define _GNU_SOURCE
#include "signal_members.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clb_beacon.h"
#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "cll_procfs_text.h"

enum {
    MOST_MEMBERS = 2048,
    ANSWER_NS = 1000000000,  // reading the list takes about 1 µs a member
};

static int clr_visit_member(const clr_epoll_member *member, void *context) {
    char link[LINK_BYTES];
    if (clr_link(*(const pid_t *)context, member->descriptor, link) < 0) return 0;
    return clr_is_signalfd(link) || clr_is_epoll(link);
}

// How many descriptors the process has open, since Linux 6.2; else 0.
static uint64_t clr_open_descriptors(pid_t pid) {
    char path[40] = "/proc/";
    memcpy(cll_append_number(path + 6, (unsigned)pid), "/fd", 4);
    struct stat folder;
    return stat(path, &folder) == 0 ? (uint64_t)folder.st_size : 0;
}

// A signalfd in use has its signals blocked in the thread that reads it, so most programs need no list of their members. And an answer holds for a
// while: who begins to use a signalfd blocks its signals before, and opens it.
int clr_may_have_signalfd(pid_t pid, pid_t tid, int32_t epoll, clr_signal_members *known) {
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return 1;
    if (status.blocked_signals == 0) return 0;
    uint64_t now_ns = clb_now_ns(), descriptors = clr_open_descriptors(pid);
    if (known != NULL && known->asked_ns != 0 && now_ns - known->asked_ns < ANSWER_NS && known->epoll == epoll
        && known->blocked == status.blocked_signals && known->descriptors == descriptors)
        return known->may_have;
    int may_have = clr_epoll_members_each(pid, epoll, MOST_MEMBERS, clr_visit_member, &pid) != 0;
    if (known != NULL) {
        *known = (clr_signal_members){
            .asked_ns = now_ns, .blocked = status.blocked_signals, .descriptors = descriptors, .epoll = epoll, .may_have = may_have,
        };
    }
    return may_have;
}

typedef struct clr_member_search {
    int pidfd;
    pid_t pid;
    uint64_t pending;
    int is_ready, is_unknown;
} clr_member_search;

// The signals that a signalfd is for; all, where the kernel does not say.
static uint64_t clr_signals_of(pid_t pid, int32_t descriptor) {
    char name[24] = "fdinfo/", text[512];
    *cll_append_number(name + 7, (unsigned)descriptor) = 0;
    if (cll_procfs_read(pid, 0, name, text, sizeof(text)) <= 0) return UINT64_MAX;
    const char *mask = cll_status_field(text, "\nsigmask:\t");
    return mask != NULL ? cll_parse_number(&mask, 16) : UINT64_MAX;
}

static int clr_ask_member(const clr_epoll_member *member, void *context) {
    clr_member_search *search = context;
    uint32_t events = member->events & ~(uint32_t)(EPOLLET | EPOLLONESHOT | EPOLLWAKEUP | EPOLLEXCLUSIVE);
    // One that was reported once, and is off since.
    if ((events & ~(uint32_t)(EPOLLERR | EPOLLHUP)) == 0) return 0;
    char link[LINK_BYTES];
    int is_ready = 0;
    if (clr_link(search->pid, member->descriptor, link) < 0) {
        search->is_unknown = 1;
    } else if (clr_is_signalfd(link)) {
        is_ready = (clr_signals_of(search->pid, member->descriptor) & search->pending) != 0;
    } else {
        int duplicate = clr_may_duplicate(link) ? clr_duplicate(search->pidfd, member->descriptor) : -1;
        struct pollfd entry = {.fd = duplicate, .events = (short)events};
        if (duplicate < 0) search->is_unknown = 1;
        else is_ready = poll(&entry, 1, 0) > 0;
        if (duplicate >= 0) close(duplicate);
    }
    if (is_ready && (member->events & EPOLLET) != 0) search->is_unknown = 1;
    else if (is_ready) search->is_ready = 1;
    return search->is_ready;
}

int clr_members_state(int pidfd, pid_t pid, pid_t tid, int32_t epoll) {
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return CLR_WORK_UNKNOWN;
    clr_member_search search = {.pidfd = pidfd, .pid = pid, .pending = status.pending_signals};
    int result = clr_epoll_members_each(pid, epoll, CLR_WAITED_MAX, clr_ask_member, &search);
    if (search.is_ready) return CLR_WORK_PENDING;
    return result != 0 || search.is_unknown ? CLR_WORK_UNKNOWN : CLR_WORK_NONE;
}
