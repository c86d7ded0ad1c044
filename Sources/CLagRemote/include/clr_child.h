// A child process as a descriptor: a signal or a wait through it can never meet another process that was given the
// child's number, whoever else in this process waits for children.
#pragma once

#include <spawn.h>
#include <stdint.h>
#include <sys/types.h>

// Has the child close every descriptor from `first` on. 0 or an errno.
int clr_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

// Linux 5.3; close-on-exec. -1 and errno.
int clr_pidfd_open(pid_t pid);
// 0, or -1 and errno: ESRCH when it has ended and been waited for.
int clr_pidfd_kill(int pidfd, int signal);
// The same for the whole group that the child leads. Linux 6.9 signals it through the descriptor; before that by the number, and
// only while the child has not been waited for, for then no other process has that number.
int clr_pidfd_kill_group(int pidfd, pid_t pid, int signal);
// Waits for the child without blocking: 1 waited for, 0 still running, -1 and errno (ECHILD: another thread did).
int clr_pidfd_reap(int pidfd);
// Bounds the private writable memory of a process (RLIMIT_DATA; files that are only read do not count). 0, or -1 and errno.
int clr_limit_data(pid_t pid, uint64_t bytes);
