// The kernel's information about a thread under /proc/<pid>/task/<tid>/, read without allocating.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

typedef struct cll_thread_status {
    char state;                    // R S D T t Z X, as in `status`
    uint64_t voluntary_switches;
    uint64_t involuntary_switches;
    uint64_t blocked_signals;      // SigBlk: bit n-1 is signal n
    uint64_t caught_signals;       // SigCgt of the process
    uint64_t pending_signals;      // SigPnd of the thread, ShdPnd of the process
} cll_thread_status;

// 0, or an errno: ESRCH if the thread is gone, ENODATA if the kernel leaves one of them out.
int cll_procfs_status(pid_t pid, pid_t tid, cll_thread_status *status);

typedef struct cll_thread_syscall {
    int64_t number;                // -1: blocked outside a system call (a page fault)
    uint64_t arguments[6];
    uint64_t sp, pc;
} cll_thread_syscall;

enum { CLL_SYSCALL_BLOCKED = 0, CLL_SYSCALL_RUNNING = 1 };

// The number of futex(2), in which every lock of glibc, Swift and libdispatch waits.
static const int64_t cll_syscall_futex = SYS_futex;

// CLL_SYSCALL_BLOCKED with `result` filled, CLL_SYSCALL_RUNNING, or a negative errno.
int cll_procfs_syscall(pid_t pid, pid_t tid, cll_thread_syscall *result);

typedef struct cll_name {
    char text[16];                 // NUL-terminated if it is shorter
} cll_name;

// A thread's name; empty if it is gone.
void cll_procfs_name(pid_t pid, pid_t tid, cll_name *name);

typedef struct cll_thread_faults {
    uint64_t minor, major;         // page faults without and with input
    uint64_t system_ns;            // time in the kernel, from samples of the scheduler's tick
} cll_thread_faults;

// 0, or an errno. From `stat`, fields 10, 12 and 15 (proc(5)).
int cll_procfs_faults(pid_t pid, pid_t tid, cll_thread_faults *faults);

// When a process began, in clock ticks since the machine started: together with the pid it identifies the process,
// which the pid alone does not. 0, or an errno. From `stat`, field 22 (proc(5)).
int cll_procfs_start_ticks(pid_t pid, uint64_t *ticks);

// A value that a process keeps until it becomes another program by exec: where its first stack begins. 0, or an
// errno; the value is 0 if the kernel does not report it. From `stat`, field 28 (proc(5)).
int cll_procfs_image(pid_t pid, uint64_t *image);

// What identifies a process, and its place in the tree.
typedef struct cll_process {
    pid_t parent;
    char state;                    // of its main thread, which may have exited before the others
    uint64_t start_ticks, image;   // as above
} cll_process;

// All of it from one file, `stat`: 0, or an errno.
int cll_procfs_process(pid_t pid, cll_process *process);
// The same from its text.
int cll_parse_process(const char *text, cll_process *process);

// The status with which a process has exited (wait(2)), until it is waited for: 1. 0: not known, or it has not exited. From `stat`,
// fields 3 and 52 (proc(5)).
int cll_procfs_exit_status(pid_t pid, int *status);

// Whether a thread is gone, or is ending: it keeps a state and a number while its memory is freed, which may take
// long. If the kernel does not report it, the thread counts as existing. From `stat`, field 9 (proc(5)).
int cll_thread_is_ending(pid_t pid, pid_t tid);

// The processor time of a thread of this process, exact even while it runs; one system call. 0 if the thread is gone.
// The clock of another process's thread cannot be read.
uint64_t cll_thread_cpu_ns(pid_t tid);

// Reads a whole /proc file below the thread's folder (or below /proc/<pid> if `tid` is 0), at most size - 1 bytes,
// and terminates it with a NUL. The length, or a negative errno. Async-signal-safe, no allocation.
long cll_procfs_read(pid_t pid, pid_t tid, const char *name, char *buffer, size_t size);

// The same for a process's `maps` (a live thread's, if the main thread has ended), and for a thread's `schedstat`.
// These are separate functions, because a string that Swift passes to C allocates in an unoptimised build.
long cll_procfs_maps(pid_t pid, char *buffer, size_t size);

// From a map of any length, up to `most` lines: the lines of code, each after the line of its file's start. Returns
// the number of bytes, `size` if there are more. -E2BIG: the map is longer. Some 1 µs per line.
long cll_procfs_code_maps(pid_t pid, char *buffer, size_t size, long most);

long cll_procfs_schedstat(pid_t pid, pid_t tid, char *buffer, size_t size);

// The mapping that contains `address`, [*low, *high); zeros if there is none. Reads all of `maps`: not for a hot
// path. 0, or an errno.
int cll_procfs_mapping(pid_t pid, uint64_t address, uint64_t *low, uint64_t *high);

// The first mapping of the file with this name in `maps`, [*low, *high); zeros if there is none. Otherwise the same.
int cll_procfs_mapping_of(pid_t pid, const char *name, uint64_t *low, uint64_t *high);
