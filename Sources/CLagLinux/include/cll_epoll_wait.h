// Whether a thread of another library's event loop sleeps in that loop's own epoll_wait: idle, not blocked.
//
// Everything here only reads `/proc`; no lock of this process, no allocation.
#pragma once

#include <sys/types.h>

// A descriptor by which an epoll instance can be recognised: an eventfd that is never written to. Negative: an errno.
int cll_epoll_marker(void);

// The epoll instance in which a thread of this process sleeps; -1 if it runs, or sleeps in something else. Some 3 µs.
int cll_epoll_of_sleeping(pid_t tid);

// Whether the epoll instance `epoll_fd` of this process watches `marker` (from /proc/self/fdinfo, proc(5)). Reads a
// line for each descriptor that the instance watches.
int cll_epoll_watches(int epoll_fd, int marker);
