#define _GNU_SOURCE
#include "clr_child.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int clr_spawn_close_from(posix_spawn_file_actions_t *actions, int first) {
    return posix_spawn_file_actions_addclosefrom_np(actions, first);
}

// By number: glibc has wrappers since 2.36 only.
int clr_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clr_event_open(void) { return eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }

int clr_pidfd_kill(int pidfd, int signal) { return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0); }

int clr_pidfd_kill_group(int pidfd, pid_t pid, int signal) {
    enum { SIGNAL_PROCESS_GROUP = 1 << 2 };
    if (syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, SIGNAL_PROCESS_GROUP) == 0) return 0;
    if (errno != EINVAL) return clr_pidfd_kill(pidfd, signal);
    if (clr_pidfd_kill(pidfd, 0) != 0) return -1;
    return kill(-pid, signal);
}

int clr_pidfd_exit_status(int pidfd, int *status) {
    // struct pidfd_info and PIDFD_GET_INFO of linux/pidfd.h, which older headers lack.
    enum { EXIT = 1 << 3 };
    struct {
        uint64_t mask, cgroup;
        uint32_t ids[11];
        int32_t status;
    } info = {.mask = EXIT};
    _Static_assert(sizeof(info) == 64, "the first version of struct pidfd_info");
    if (ioctl(pidfd, _IOWR(0xFF, 11, info), &info) != 0 || (info.mask & EXIT) == 0) return 0;
    *status = info.status;
    return 1;
}

int clr_pidfd_reap(int pidfd) {
    enum { WAIT_BY_PIDFD = 3 };
    siginfo_t info = {0};
    int result;
    do result = waitid((idtype_t)WAIT_BY_PIDFD, (id_t)pidfd, &info, WEXITED | WNOHANG);
    while (result < 0 && errno == EINTR);
    if (result < 0) return -1;
    return info.si_pid != 0;
}

int clr_limit_data(pid_t pid, uint64_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    return prlimit(pid, RLIMIT_DATA, &limit, NULL);
}
