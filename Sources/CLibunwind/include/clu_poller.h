// epoll for a run loop: the descriptors it watches, and the eventfd that ends its sleep.
#ifndef CLU_POLLER_H
#define CLU_POLLER_H

#include <stdint.h>
#include "clu_wake.h"

enum { CLU_POLL_READABLE = 1, CLU_POLL_WRITABLE = 2, CLU_POLL_HANGUP = 4 };

typedef struct clu_ready {
    int32_t fd;
    uint32_t events;
} clu_ready;

// A close-on-exec epoll instance; -1 with errno.
int clu_poller_create(void);
// Makes the eventfd of `wake` and lets `epoll_fd` watch it. 0 or an errno.
int clu_poller_attach_wake(int epoll_fd, clu_wake *wake);
// Closes the eventfd of `wake`. The caller guarantees that the loop will not sleep again; a wake that is still
// under way is waited for, so that it cannot write to a descriptor that was closed and given to somebody else.
void clu_poller_detach_wake(clu_wake *wake);
// Watches `fd` for `events` (CLU_POLL_…), level-triggered, or edge-triggered when `edge` is set. 0 or an errno.
int clu_poller_watch(int epoll_fd, int fd, uint32_t events, int edge);
void clu_poller_unwatch(int epoll_fd, int fd);
// What is ready now, without waiting: the number of entries written to `ready`.
int clu_poller_poll(int epoll_fd, const clu_wake *wake, clu_ready *ready, int capacity);
// Like clu_wake_sleep, but also until a watched descriptor is ready. Takes the wake.
int clu_poller_sleep(int epoll_fd, clu_wake *wake, uint64_t deadline_ns, clu_ready *ready, int capacity);

#endif
