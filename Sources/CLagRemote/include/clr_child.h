// A child process as a descriptor: a signal or a wait through it can never reach another process that reuses the
// child's process ID, even if other code in this process waits for children.
#pragma once

#include <spawn.h>
#include <stdint.h>
#include <sys/types.h>

// Makes the child close every descriptor from `first` on. 0 or an errno.
int clr_spawn_close_from(posix_spawn_file_actions_t *actions, int first);

// Linux 5.3; close-on-exec. -1 and errno.
int clr_pidfd_open(pid_t pid);
// An eventfd, to end a thread's wait for a pidfd: non-blocking, close-on-exec. -1 and errno.
int clr_event_open(void);
// 0, or -1 and errno: ESRCH if it has exited and been waited for.
int clr_pidfd_kill(int pidfd, int signal);
// The same for the whole group that the child leads. Linux 6.9 signals it through the descriptor; earlier kernels by the group's ID,
// only while the child has not been waited for, because until then no other process has that ID.
int clr_pidfd_kill_group(int pidfd, pid_t pid, int signal);
// The status with which its process has exited (wait(2)), also one that is not a child, after it was waited for: 1. 0: not known, or it
// has not exited. Linux 6.15.
int clr_pidfd_exit_status(int pidfd, int *status);
// Waits for the child without blocking: 1 waited for, 0 still running, -1 and errno (ECHILD: another thread did).
int clr_pidfd_reap(int pidfd);
// Limits the private writable memory of a process (RLIMIT_DATA; read-only file mappings do not count). 0, or -1 and errno.
int clr_limit_data(pid_t pid, uint64_t bytes);
