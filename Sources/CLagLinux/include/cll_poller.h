// epoll for a run loop: the descriptors it watches, and the eventfd that ends its sleep.
#pragma once

#include <stdint.h>
#include "cll_wake.h"

enum { CLL_POLL_READABLE = 1, CLL_POLL_WRITABLE = 2, CLL_POLL_HANGUP = 4 };

typedef struct cll_ready {
    int32_t fd;
    uint32_t events;
} cll_ready;

// A close-on-exec epoll instance; -1 with errno.
int cll_poller_create(void);
// Makes the eventfd of `wake` and lets `epoll_fd` watch it. 0 or an errno.
int cll_poller_attach_wake(int epoll_fd, cll_wake *wake);
// Closes the eventfd of `wake`. The caller guarantees that the loop will not sleep again; a wake that is still
// under way is waited for, so that it cannot write to a descriptor that was closed and reused.
void cll_poller_detach_wake(cll_wake *wake);
// Forgets the eventfd without closing it: its number is not its own any more.
void cll_poller_lose_wake(cll_wake *wake);
// Watches `fd` for `events` (CLL_POLL_…), level-triggered, or edge-triggered when `edge` is set. 0 or an errno.
int cll_poller_watch(int epoll_fd, int fd, uint32_t events, int edge);
void cll_poller_unwatch(int epoll_fd, int fd);
// What is ready now, without waiting: the number of entries written to `ready`; -1: `epoll_fd` is no epoll instance.
int cll_poller_poll(int epoll_fd, const cll_wake *wake, cll_ready *ready, int capacity);
// Like cll_wake_sleep, but also until a watched descriptor is ready. Takes the wake.
int cll_poller_sleep(int epoll_fd, cll_wake *wake, uint64_t deadline_ns, cll_ready *ready, int capacity);

// Whether a descriptor that is watched is ready, without taking the event. Any thread.
int cll_poller_is_ready(int epoll_fd);
// Whether any thread may ask an epoll instance that watches this descriptor. Asked by another thread than a signal is for, it drops a signalfd
// from what is ready; of a nested instance it is not known what that one watches. A readlink; any thread.
int cll_poller_may_ask(int fd);
