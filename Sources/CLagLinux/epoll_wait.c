#include "cll_epoll_wait.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_procfs.h"

int cll_epoll_marker(void) {
    int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

static int cll_is_epoll_wait(int64_t number) {
    switch (number) {
#ifdef SYS_epoll_wait  // arm64 lacks it
    case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
    case SYS_epoll_pwait2:
#endif
    case SYS_epoll_pwait: return 1;
    default: return 0;
    }
}

int cll_epoll_of_sleeping(pid_t tid) {
    cll_thread_syscall call;
    if (cll_procfs_syscall(getpid(), tid, &call) != CLL_SYSCALL_BLOCKED || !cll_is_epoll_wait(call.number)) return -1;
    return (int)call.arguments[0];
}

int cll_epoll_watches(int epoll_fd, int marker) {
    char path[48];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", epoll_fd);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    // Lines of the form `tfd:        7 events: …`, of some 80 bytes; an incomplete line is kept for the next round.
    static const char key[] = "tfd:";
    char buffer[4096];
    size_t kept = 0;
    int found = 0;
    while (!found) {
        ssize_t length = read(fd, buffer + kept, sizeof buffer - 1 - kept);
        if (length < 0 && errno == EINTR) continue;
        if (length <= 0) break;
        buffer[kept + (size_t)length] = 0;
        char *line = buffer;
        for (char *end; !found && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = 0;
            found = strncmp(line, key, sizeof key - 1) == 0 && strtol(line + sizeof key - 1, NULL, 10) == marker;
        }
        kept = strlen(line);
        memmove(buffer, line, kept);
        if (kept >= sizeof buffer - 1) break;  // no such line is that long
    }
    close(fd);
    return found;
}
