#define _GNU_SOURCE
#include "cll_poller.h"
#include "clb_beacon.h"
#include "cll_procfs_text.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAXIMUM_EVENTS = 64 };

int cll_poller_is_ready(int epoll_fd) {
    struct pollfd entry = {.fd = epoll_fd, .events = POLLIN};
    return poll(&entry, 1, 0) > 0 && (entry.revents & POLLIN) != 0;
}

int cll_poller_may_ask(int fd) {
    char path[32] = "/proc/self/fd/", link[32];
    *cll_append_number(path + 14, (unsigned)fd) = 0;
    ssize_t length = readlink(path, link, sizeof(link) - 1);
    if (length < 0) return 0;
    link[length] = 0;
    return strcmp(link, "anon_inode:[signalfd]") != 0 && strcmp(link, "anon_inode:[eventpoll]") != 0;
}

int cll_poller_create(void) { return epoll_create1(EPOLL_CLOEXEC); }

int cll_poller_attach_wake(int epoll_fd, cll_wake *wake) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (fd < 0) return errno;
    // Edge-triggered and never read: every write is a new edge, and the counter cannot overflow in any lifetime.
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        int error = errno;
        close(fd);
        return error;
    }
    wake->event_fd = fd;
    return 0;
}

void cll_poller_lose_wake(cll_wake *wake) {
    wake->event_fd = -1;
    wake->expected_writes = 0;
}

void cll_poller_detach_wake(cll_wake *wake) {
    if (wake->event_fd < 0) return;
    uint32_t arrived = 0;
    while ((int32_t)(wake->expected_writes - arrived) > 0) {
        uint64_t value = 0;
        ssize_t length = read(wake->event_fd, &value, sizeof(value));
        if (length == (ssize_t)sizeof(value)) arrived += (uint32_t)value;
        // Closed by the host: writes to it do not arrive any more.
        else if (length >= 0 || (errno != EAGAIN && errno != EINTR)) return cll_poller_lose_wake(wake);
        if ((int32_t)(wake->expected_writes - arrived) > 0) sched_yield();
    }
    close(wake->event_fd);
    wake->event_fd = -1;
}

int cll_poller_watch(int epoll_fd, int fd, uint32_t events, int edge) {
    struct epoll_event event = {.data.fd = fd};
    if (events & CLL_POLL_READABLE) event.events |= EPOLLIN | EPOLLRDHUP;
    if (events & CLL_POLL_WRITABLE) event.events |= EPOLLOUT;
    if (edge) event.events |= EPOLLET;
    // The kernel forgets a descriptor when it is closed, so this code cannot know which of the two is correct.
    if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event) == 0) return 0;
    if (errno == ENOENT && epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) return 0;
    return errno;
}

void cll_poller_unwatch(int epoll_fd, int fd) {
    struct epoll_event none = {0};
    epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, &none);
}

static int cll_collect(const struct epoll_event *events, int count, const cll_wake *wake, cll_ready *ready) {
    int written = 0;
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == wake->event_fd) continue;
        uint32_t flags = 0;
        if (events[i].events & (EPOLLIN | EPOLLPRI)) flags |= CLL_POLL_READABLE;
        if (events[i].events & EPOLLOUT) flags |= CLL_POLL_WRITABLE;
        if (events[i].events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR)) flags |= CLL_POLL_HANGUP;
        ready[written++] = (cll_ready){.fd = events[i].data.fd, .events = flags};
    }
    return written;
}

int cll_poller_poll(int epoll_fd, const cll_wake *wake, cll_ready *ready, int capacity) {
    struct epoll_event events[MAXIMUM_EVENTS];
    int count = epoll_wait(epoll_fd, events, capacity < MAXIMUM_EVENTS ? capacity : MAXIMUM_EVENTS, 0);
    if (count < 0) return errno == EBADF || errno == EINVAL ? -1 : 0;
    return cll_collect(events, count, wake, ready);
}

// epoll_pwait2 has nanoseconds; if it is missing (before Linux 5.11, or filtered), milliseconds rounded up.
static int cll_wait_until(int epoll_fd, struct epoll_event *events, int capacity, uint64_t deadline_ns) {
    static int coarse;
    if (deadline_ns == UINT64_MAX) return epoll_wait(epoll_fd, events, capacity, -1);
    uint64_t now = clb_now_ns();
    uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
#ifdef SYS_epoll_pwait2
    if (!__atomic_load_n(&coarse, __ATOMIC_RELAXED)) {
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000000000u), .tv_nsec = (long)(left % 1000000000u)};
        int count = (int)syscall(SYS_epoll_pwait2, epoll_fd, events, capacity, &timeout, NULL, 0);
        if (count >= 0 || (errno != ENOSYS && errno != EPERM)) return count;
        __atomic_store_n(&coarse, 1, __ATOMIC_RELAXED);
    }
#endif
    uint64_t milliseconds = (left + 999999u) / 1000000u;
    return epoll_wait(epoll_fd, events, capacity, milliseconds > 60000u ? 60000 : (int)milliseconds);
}

int cll_poller_sleep(int epoll_fd, cll_wake *wake, uint64_t deadline_ns, cll_ready *ready, int capacity) {
    struct epoll_event events[MAXIMUM_EVENTS];
    int limit = capacity < MAXIMUM_EVENTS ? capacity : MAXIMUM_EVENTS;
    int count = 0;
    uint32_t expected = CLL_WAKE_AWAKE;
    if (__atomic_compare_exchange_n(
            &wake->state, &expected, CLL_WAKE_ASLEEP_EPOLL, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        int saved = errno;
        for (;;) {
            count = cll_wait_until(epoll_fd, events, limit, deadline_ns);
            if (count > 0) {
                count = cll_collect(events, count, wake, ready);
                if (count > 0) break;
            } else if (count < 0 && errno != EINTR) {
                count = errno == EBADF || errno == EINVAL ? -1 : 0;
                break;
            }
            count = 0;
            if (__atomic_load_n(&wake->state, __ATOMIC_SEQ_CST) != CLL_WAKE_ASLEEP_EPOLL) break;
            if (deadline_ns != UINT64_MAX && clb_now_ns() >= deadline_ns) break;
        }
        errno = saved;
        if (__atomic_exchange_n(&wake->state, CLL_WAKE_AWAKE, __ATOMIC_SEQ_CST) == CLL_WAKE_PENDING) {
            wake->expected_writes += 1;
        }
        return count;
    }
    __atomic_exchange_n(&wake->state, CLL_WAKE_AWAKE, __ATOMIC_SEQ_CST);
    return cll_poller_poll(epoll_fd, wake, ready, limit);
}
