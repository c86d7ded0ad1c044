// The kernel's data on one thread of any process, sampled repeatedly, without involving the thread.
//
// The files stay open: after the thread has exited, reads return ESRCH, and a later thread with the same ID is not confused with it.
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
    uint64_t runs;            // number of times it got one
} clr_thread_sample;

// 0, or an errno: EACCES or EPERM if this process may not trace the thread, ESRCH if it does not exist.
int clr_thread_files_open(pid_t pid, pid_t tid, clr_thread_files *files);
void clr_thread_files_close(clr_thread_files *files);
// Two reads, some 3 µs; no allocation. 0, or an errno: ESRCH if the thread has exited.
int clr_thread_files_sample(const clr_thread_files *files, clr_thread_sample *sample);

// How a system call waits for events of several descriptors, as event loops do; 0: it does not.
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

// Whether a thread that is stopped for a moment in this call continues it transparently (signal(7), "Interruption of system calls
// and library functions by stop signals"; calls on sockets fail if a timeout is set).
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

// Where a blocked event wait stores its results: address and length of the beginning; length 0: none.
typedef struct clr_wait_results {
    uint64_t address;
    uint32_t length;
} clr_wait_results;
clr_wait_results clr_results_of_wait(const cll_thread_syscall *call);

// A hash of the results' contents; 0: they cannot be read. Takes about 1 µs.
uint64_t clr_read_results(pid_t pid, clr_wait_results results);
