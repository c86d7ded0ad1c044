// A descriptor of another process: what it refers to, and a duplicate of it.
#ifndef CLL_FOREIGN_DESCRIPTOR_H
#define CLL_FOREIGN_DESCRIPTOR_H

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "procfs_text.h"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif

enum { LINK_BYTES = 64 };

// What a descriptor refers to, cut to LINK_BYTES. Its length; negative: it is closed, or not ours to see.
static inline ssize_t cll_link(pid_t pid, int descriptor, char link[LINK_BYTES]) {
    if (descriptor < 0) return -1;
    ssize_t length = cll_procfs_link(pid, descriptor, link, LINK_BYTES - 1);
    if (length >= 0) link[length] = 0;
    return length;
}

static inline int cll_begins(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

static inline int cll_is_signalfd(const char *link) { return strcmp(link, "anon_inode:[signalfd]") == 0; }
static inline int cll_is_terminal(const char *link) { return cll_begins(link, "/dev/pts/") || cll_begins(link, "/dev/tty"); }

// Whether the end of a duplicate does nothing that can wait: closing a file of a network or of a user's file system may.
static inline int cll_may_duplicate(const char *link) {
    return cll_begins(link, "socket:") || cll_begins(link, "pipe:") || cll_begins(link, "anon_inode:[eventfd]")
        || cll_begins(link, "anon_inode:[timerfd]") || cll_begins(link, "anon_inode:inotify") || cll_begins(link, "anon_inode:[pidfd]")
        || cll_is_terminal(link);
}

// A descriptor of this process, or a negative errno.
static inline int cll_duplicate(int pidfd, int descriptor) {
    int duplicate = (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    return duplicate < 0 ? -errno : duplicate;
}

#endif
