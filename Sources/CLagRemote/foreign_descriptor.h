// A descriptor of another process: what it refers to, and a duplicate of it.
#pragma once

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_procfs_text.h"
#include "stable_hash.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

enum { LINK_BYTES = 64 };

// Reads what a descriptor refers to, truncated to LINK_BYTES. Returns the length; negative: closed, or access denied.
static inline ssize_t clr_link(pid_t pid, int descriptor, char link[LINK_BYTES]) {
    if (descriptor < 0) return -1;
    ssize_t length = cll_procfs_link(pid, descriptor, link, LINK_BYTES - 1);
    if (length >= 0) link[length] = 0;
    return length;
}

// The identity of what a descriptor refers to; 0: none.
static inline uint64_t clr_identity(const char *link, ssize_t length) {
    return length < 0 ? 0 : clr_stable_hash(link, (size_t)length);
}

static inline int clr_begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static inline int clr_is_epoll(const char *link) { return strcmp(link, "anon_inode:[eventpoll]") == 0; }
static inline int clr_is_signalfd(const char *link) { return strcmp(link, "anon_inode:[signalfd]") == 0; }
static inline int clr_is_terminal(const char *link) { return clr_begins(link, "/dev/pts/") || clr_begins(link, "/dev/tty"); }

// Whether it is an interactive terminal, not a serial device (/dev/ttyS0, /dev/ttyUSB0).
static inline int clr_is_persons_terminal(const char *link) {
    if (clr_begins(link, "/dev/pts/")) return 1;
    return clr_begins(link, "/dev/tty") && (link[8] == 0 || (link[8] >= '0' && link[8] <= '9'));
}

// Whether a process has both ends of the pipe with that identity, and at most 64 descriptors.
int clr_has_both_ends(pid_t pid, uint64_t identity);

// Whether closing a duplicate cannot block: closing a file on a network or FUSE file system may.
static inline int clr_may_duplicate(const char *link) {
    return clr_begins(link, "socket:") || clr_begins(link, "pipe:") || clr_begins(link, "anon_inode:[eventfd]")
        || clr_begins(link, "anon_inode:[timerfd]") || clr_begins(link, "anon_inode:inotify") || clr_begins(link, "anon_inode:[pidfd]")
        || clr_is_terminal(link);
}

// A descriptor of this process, or a negative errno.
static inline int clr_duplicate(int pidfd, int descriptor) {
    int duplicate = (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    return duplicate < 0 ? -errno : duplicate;
}

// Whether a descriptor of this process is a listening socket.
static inline int clr_takes_connections(int descriptor) {
    int listens = 0;
    socklen_t size = sizeof(listens);
    return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens;
}

// Whether a descriptor of another process is a listening socket; -1: a socket that cannot be queried.
static inline int clr_listens(int pidfd, pid_t pid, int descriptor) {
    char link[LINK_BYTES];
    if (clr_link(pid, descriptor, link) < 0 || !clr_begins(link, "socket:")) return 0;
    int duplicate = clr_duplicate(pidfd, descriptor);
    if (duplicate < 0) return -1;
    int listens = clr_takes_connections(duplicate);
    close(duplicate);
    return listens;
}
