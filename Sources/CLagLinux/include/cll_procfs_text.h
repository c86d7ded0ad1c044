// Text of /proc, read and made without the C library's formatting, which may take memory.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"

// Writes the number in decimal, without an end mark. Returns where it ends.
char *cll_append_number(char *out, unsigned number);

// The number at `*text`, behind blanks; base 0: hexadecimal where it begins with 0x. Moves `*text` behind it.
uint64_t cll_parse_number(const char **text, int base);

// The value of a field of a `status` file, which ends with its line; NULL when the file lacks it. `name` has the form "\nNAME:\t".
const char *cll_status_field(const char *text, const char *name);

// Gives each line of a file from where it stands, ended by a NUL, to `visit`, until that returns something other than 0, which is the result then.
// Of a line longer than 4 KB only so much is given. 0: that were all; or a negative errno. Async-signal-safe, no allocation.
int cll_lines_each(int fd, int (*visit)(char *line, void *context), void *context);

// As cll_procfs_status, of a `status` file that is open.
int cll_status_read(int fd, cll_thread_status *status);

// The text of a thread's `syscall`: as cll_procfs_syscall.
int cll_parse_syscall(const char *text, cll_thread_syscall *result);

// Whether there is such a thread in such a process, as far as can be said. Asked of one that this thread has seized, it stays true: a number that was
// given out again since it was read is another process's thread.
int cll_is_thread_of(pid_t pid, pid_t tid);

// Opens a file below the thread's folder, or below the process's where `tid` is 0. A descriptor, or a negative errno (-ESRCH: there is none).
int cll_procfs_open(pid_t pid, pid_t tid, const char *name);

// What a descriptor of the process refers to, as /proc/PID/fd says, without an end mark. Its length, or -1 with errno: ENOENT, it is closed.
ssize_t cll_procfs_link(pid_t pid, int descriptor, char *link, size_t size);

// Gives each number that names an entry of the folder /proc/PID/`folder` ("task", "fd") to `visit`, until that returns something other than 0, which
// is the result then. 0: that were all; -1: the folder cannot be read; -2: there are more than `most`.
int cll_procfs_each(pid_t pid, const char *folder, unsigned most, int (*visit)(unsigned number, void *context), void *context);

// Where the main thread of a process has ended, its number gives neither `maps` nor memory nor descriptors: a thread that still has them. 0: there
// is none, or the main thread lives. Of this process it is the calling thread. Async-signal-safe; 10 µs, and as much for each thread that has ended.
pid_t cll_living_thread(pid_t pid);

// Gives each line of a process's `maps`, ended by a NUL, to `visit`. 0, or an errno (ESRCH when the process is gone).
int cll_maps_each(pid_t pid, void (*visit)(char *line, void *context), void *context);
