// Text of /proc, read and created without the C library's formatting, which may allocate.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"

// Writes the number in decimal, without a terminator. Returns its end.
char *cll_append_number(char *out, unsigned number);

// The number at `*text`, after blanks; base 0: hexadecimal if it begins with 0x. Moves `*text` past it.
uint64_t cll_parse_number(const char **text, int base);

// The value of a field of a `status` file, which ends with its line; NULL when the file lacks it. `name` has the form "\nNAME:\t".
const char *cll_status_field(const char *text, const char *name);

// Passes each line of a file from its present position on, NUL-terminated, to `visit`, until that returns something
// other than 0, which is then the result. A line longer than 4 KB is cut to that length. 0: all lines were passed; or
// a negative errno. Async-signal-safe, no allocation.
int cll_lines_each(int fd, int (*visit)(char *line, void *context), void *context);

// Like cll_procfs_status, for an open `status` file.
int cll_status_read(int fd, cll_thread_status *status);

// The text of a thread's `syscall`: like cll_procfs_syscall.
int cll_parse_syscall(const char *text, cll_thread_syscall *result);

// Whether there is such a thread in such a process, as far as this can be determined. For a thread that this thread
// has seized, the answer stays true: if the number was reused since it was read, it belongs to another process's
// thread.
int cll_is_thread_of(pid_t pid, pid_t tid);

// Opens a file below the thread's folder, or below the process's if `tid` is 0. A descriptor, or a negative errno
// (-ESRCH: there is none).
int cll_procfs_open(pid_t pid, pid_t tid, const char *name);

// What a descriptor of the process refers to, from /proc/PID/fd, without a terminator. Its length, or -1 with errno:
// ENOENT, it is closed.
ssize_t cll_procfs_link(pid_t pid, int descriptor, char *link, size_t size);

// Passes each number that names an entry of the folder /proc/PID/`folder` ("task", "fd") to `visit`, until that
// returns something other than 0, which is then the result. 0: all were passed; -1: the folder cannot be read; -2:
// there are more than `most`.
int cll_procfs_each(pid_t pid, const char *folder, unsigned most, int (*visit)(unsigned number, void *context), void *context);

// If the main thread of a process has ended, its number gives access neither to `maps` nor to memory nor to
// descriptors. Returns a thread that still has them. 0: there is none, or the main thread is alive. For this process
// it is the calling thread. Async-signal-safe; 10 µs, and as much for each thread that has ended.
pid_t cll_living_thread(pid_t pid);

// Passes each line of a process's `maps`, NUL-terminated, to `visit`. 0, or an errno (ESRCH if the process is gone).
int cll_maps_each(pid_t pid, void (*visit)(char *line, void *context), void *context);
