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
// Creates the eventfd of `wake` and makes `epoll_fd` watch it. 0 or an errno.
int cll_poller_attach_wake(int epoll_fd, cll_wake *wake);
// Closes the eventfd of `wake`. The caller guarantees that the loop will not sleep again. It waits for a wake in
// progress, so that the wake cannot write to a descriptor that was closed and reused.
void cll_poller_detach_wake(cll_wake *wake);
// Forgets the eventfd without closing it: its number no longer belongs to it.
void cll_poller_lose_wake(cll_wake *wake);
// Watches `fd` for `events` (CLL_POLL_…), level-triggered, or edge-triggered if `edge` is set. 0 or an errno.
int cll_poller_watch(int epoll_fd, int fd, uint32_t events, int edge);
void cll_poller_unwatch(int epoll_fd, int fd);
// What is ready now, without waiting: the number of entries written to `ready`; -1: `epoll_fd` is not an epoll
// instance.
int cll_poller_poll(int epoll_fd, const cll_wake *wake, cll_ready *ready, int capacity);
// Like cll_wake_sleep, but also until a watched descriptor is ready. Takes the wake.
int cll_poller_sleep(int epoll_fd, cll_wake *wake, uint64_t deadline_ns, cll_ready *ready, int capacity);

// Whether a watched descriptor is ready, without taking the event. Any thread.
int cll_poller_is_ready(int epoll_fd);
// Whether any thread may query an epoll instance that watches this descriptor. If a thread for which the signal is
// not meant queries it, the kernel drops a signalfd from the ready list; for a nested instance it is not known what
// that one watches. A readlink; any thread.
int cll_poller_may_ask(int fd);
