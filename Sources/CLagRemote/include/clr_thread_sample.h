// What the kernel says of one thread of any process, sampled again and again, without the thread's taking part.
//
// The files stay open: a thread that has ended says ESRCH from then on, and who gets its number later is not taken for it.
#pragma once

#include <stdint.h>
#include <sys/syscall.h>
#include <sys/types.h>

#include "cll_procfs.h"

typedef struct clr_thread_files {
    int syscall_fd, schedstat_fd;
} clr_thread_files;

typedef struct clr_thread_sample {
    int32_t state;            // CLL_SYSCALL_BLOCKED or CLL_SYSCALL_RUNNING
    cll_thread_syscall call;  // where it is blocked
    uint64_t cpu_ns;          // time on processors, as of the scheduler's last tick
    uint64_t delay_ns;        // time ready to run, without a processor
    uint64_t runs;            // times it was given one
} clr_thread_sample;

// 0, or an errno: EACCES or EPERM where this process may not trace the thread, ESRCH where it does not exist.
int clr_thread_files_open(pid_t pid, pid_t tid, clr_thread_files *files);
void clr_thread_files_close(clr_thread_files *files);
// Two reads, some 3 µs; no allocation. 0, or an errno: ESRCH when the thread has ended.
int clr_thread_files_sample(const clr_thread_files *files, clr_thread_sample *sample);

// How a system call waits for events of several descriptors, where event loops rest; 0: it does not.
enum {
    CLR_WAIT_EPOLL = 1,
    CLR_WAIT_POLL = 2,
    CLR_WAIT_SELECT = 3,
    CLR_WAIT_RING = 4,
};

static inline int clr_wait_kind(int64_t number) {
    switch (number) {
#ifdef SYS_epoll_wait
        case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
        case SYS_epoll_pwait2:
#endif
        case SYS_epoll_pwait: return CLR_WAIT_EPOLL;
#ifdef SYS_poll
        case SYS_poll:
#endif
        case SYS_ppoll: return CLR_WAIT_POLL;
#ifdef SYS_select
        case SYS_select:
#endif
        case SYS_pselect6: return CLR_WAIT_SELECT;
#ifdef SYS_io_uring_enter
        case SYS_io_uring_enter: return CLR_WAIT_RING;
#endif
        default: return 0;
    }
}

// Whether a thread that is held for a moment in this call goes on in it without noticing (signal(7), "Interruption of system calls
// and library functions by stop signals"; those on sockets fail where a time-out is set).
static inline int clr_resumes_after_stop(int64_t number) {
    switch (number) {
        case SYS_fsync:
        case SYS_fdatasync:
        case SYS_futex:
        case SYS_nanosleep:
        case SYS_clock_nanosleep:
        case SYS_pread64:
        case SYS_pwrite64:
        case SYS_openat:
        case SYS_getdents64:
        case SYS_flock:
#ifdef SYS_poll
        case SYS_poll:
#endif
#ifdef SYS_select
        case SYS_select:
#endif
        case SYS_ppoll:
        case SYS_pselect6: return 1;
        default: return 0;
    }
}

// What a blocked event wait leaves its results in: address and length of the beginning of it; length 0: no such place.
typedef struct clr_wait_results {
    uint64_t address;
    uint32_t length;
} clr_wait_results;
clr_wait_results clr_results_of_wait(const cll_thread_syscall *call);

// A number that changes with the results' contents; 0: they cannot be read. About 1 µs.
uint64_t clr_read_results(pid_t pid, clr_wait_results results);
