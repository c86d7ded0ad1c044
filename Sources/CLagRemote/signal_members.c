#define _GNU_SOURCE
#include "signal_members.h"

#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "clb_beacon.h"
#include "epoll_members.h"
#include "foreign_descriptor.h"
#include "cll_procfs_text.h"

enum {
    MOST_DESCRIPTORS = 512,  // 3 µs each, for which the watchdog waits
    ANSWER_NS = 1000000000,
};

// Whether a file gives the same answer to every poll by every process. A file of /proc or /sys reports a change (of
// the mounts, of the host's name, a pressure) only once, to the first poll, and so does a perf event.
static int clr_may_be_asked(const char *link, int blocks_signals) {
    static const char *const known[] = {
        "eventfd]", "timerfd]", "pidfd]", "io_uring]", "fanotify]", "userfaultfd]", "eventpoll]",
    };
    if (clr_is_signalfd(link)) return !blocks_signals;
    // Recognised by the name of the mount folder, also in a container's root (/srv/root/proc/…), but not under other
    // names. Any other file below a folder of that name counts as one: the instance is then polled member by member,
    // which is correct for it, too.
    if (*link == '/') return strstr(link, "/proc/") == NULL && strstr(link, "/sys/") == NULL;
    if (!clr_begins(link, "anon_inode:")) return 1;
    if (clr_begins(link, "anon_inode:inotify")) return 1;
    if (!clr_begins(link, "anon_inode:[")) return 0;
    for (size_t index = 0; index < sizeof(known) / sizeof(known[0]); index++) {
        if (strcmp(link + sizeof("anon_inode:[") - 1, known[index]) == 0) return 1;
    }
    return 0;
}

typedef struct clr_risk_search {
    pid_t pid;
    int blocks_signals, risk;
} clr_risk_search;

static int clr_visit_descriptor(unsigned descriptor, void *context) {
    const clr_risk_search *search = context;
    char link[LINK_BYTES];
    return clr_link(search->pid, (int)descriptor, link) >= 0 && !clr_may_be_asked(link, search->blocks_signals);
}

// A nested instance cannot be examined.
static int clr_visit_member(const clr_epoll_member *member, void *context) {
    clr_risk_search *search = context;
    char link[LINK_BYTES];
    if (clr_link(search->pid, member->descriptor, link) < 0) return 0;
    if (!clr_is_epoll(link) && clr_may_be_asked(link, search->blocks_signals)) return 0;
    search->risk = clr_is_epoll(link) || clr_is_signalfd(link) ? CLR_MEMBERS_SIGNALS : CLR_MEMBERS_OTHERS;
    return 1;
}

// Most programs have no descriptor that must not be polled, so their instances need no list. In a program with very many descriptors, most are
// connections: its instances are polled, unless they may have a signalfd.
static int clr_risk_of(pid_t pid, pid_t tid, int32_t epoll, uint64_t descriptors, int blocks_signals) {
    clr_risk_search search = {.pid = pid, .blocks_signals = blocks_signals};
    // The thread's own folder: the descriptors of an exited main thread are not shown.
    char folder[24] = "task/";
    memcpy(cll_append_number(folder + 5, (unsigned)tid), "/fd", 4);
    int found = descriptors > MOST_DESCRIPTORS ? -2 : cll_procfs_each(pid, folder, MOST_DESCRIPTORS, clr_visit_descriptor, &search);
    if (found == 0 || (found == -2 && !blocks_signals)) return CLR_MEMBERS_HARMLESS;
    found = clr_epoll_members_each(pid, epoll, CLR_MEMBERS_MAX, clr_visit_member, &search);
    return found == 0 ? CLR_MEMBERS_HARMLESS : search.risk != 0 ? search.risk : CLR_MEMBERS_SIGNALS;
}

// Whether an answer is still valid. The signals of a signalfd in use are blocked in the thread that reads it: a program that starts to use one
// first blocks its signals, and opens it. For a thread that blocks none, only other files that must not be polled matter, which hardly any
// program has; then the number of open descriptors is ignored, because it differs at each poll of a server with changing
// connections.
static int clr_holds(const clr_signal_members *known, uint64_t now_ns, int32_t epoll, uint64_t blocked, uint64_t descriptors) {
    if (known->asked_ns == 0 || now_ns - known->asked_ns >= ANSWER_NS) return 0;
    return known->epoll == epoll && known->blocked == blocked && (blocked == 0 || known->descriptors == descriptors);
}

int clr_members_risk(pid_t pid, pid_t tid, int32_t epoll, clr_signal_members *known) {
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return CLR_MEMBERS_SIGNALS;
    uint64_t now_ns = clb_now_ns(), descriptors = clr_open_descriptors(pid);
    if (known != NULL && clr_holds(known, now_ns, epoll, status.blocked_signals, descriptors)) return known->risk;
    int risk = clr_risk_of(pid, tid, epoll, descriptors, status.blocked_signals != 0);
    if (known != NULL) {
        *known = (clr_signal_members){
            .asked_ns = now_ns, .blocked = status.blocked_signals, .descriptors = descriptors, .epoll = epoll, .risk = risk,
        };
    }
    return risk;
}

typedef struct clr_member_search {
    int pidfd;
    pid_t pid;
    uint64_t pending;
    int is_ready, is_edge, is_unknown;
} clr_member_search;

// The signals of a signalfd; all if the kernel does not show them.
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
    // A one-shot member that was reported and is disabled since.
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
    if (is_ready && (member->events & EPOLLET) != 0) search->is_edge = 1;
    else if (is_ready) search->is_ready = 1;
    return search->is_ready;
}

int clr_members_state(int pidfd, pid_t pid, pid_t tid, int32_t epoll, int *is_edge) {
    *is_edge = 0;
    cll_thread_status status;
    if (cll_procfs_status(pid, tid, &status) != 0) return CLR_WORK_UNKNOWN;
    clr_member_search search = {.pidfd = pidfd, .pid = pid, .pending = status.pending_signals};
    int result = clr_epoll_members_each(pid, epoll, CLR_WAITED_MAX, clr_ask_member, &search);
    if (search.is_ready) return CLR_WORK_PENDING;
    if (result != 0 || search.is_unknown) return CLR_WORK_UNKNOWN;
    *is_edge = search.is_edge;
    return search.is_edge ? CLR_WORK_UNKNOWN : CLR_WORK_NONE;
}
