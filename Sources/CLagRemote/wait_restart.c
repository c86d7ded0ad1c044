#define _GNU_SOURCE
#include "wait_restart.h"

#include "clb_beacon.h"
#include "cll_procfs.h"

#include <elf.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>

#if defined(__x86_64__)

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

enum {
    SYSCALL_BYTES = 2,           // of the instruction
    USER_CODE_64 = 0x33,         // the segment of 64-bit code: other code has other system call numbers
    MOST_WAITED_NS = 1000000,    // the maximum extension of a timeout
};

// Whether a signal is pending that the thread does not block, or this cannot be determined.
static int clr_has_signal(pid_t tid) {
    cll_thread_status status;
    return cll_procfs_status(tid, 0, &status) != 0 || (status.pending_signals & ~status.blocked_signals) != 0;
}

// Whether the wait has no timeout: -1, or no time at all. The timeout of a wait on a socket cannot be seen.
static int clr_is_endless(const struct user_regs_struct *call) {
    switch (call->orig_rax) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait: return (int32_t)call->r10 < 0;
    case SYS_epoll_pwait2:
    case SYS_semtimedop: return call->r10 == 0;
    case SYS_rt_sigtimedwait: return call->rdx == 0;
    case SYS_semop:
    case SYS_msgrcv:
    case SYS_msgsnd:
    case SYS_io_uring_enter: return 1;
    default: return 0;
    }
}

// Whether the call can be restarted as if it had not been interrupted. A call with a temporary signal mask has already restored the mask. (A close has
// closed its descriptor, whatever it returns.)
static int clr_can_restart(const struct user_regs_struct *call) {
    switch (call->orig_rax) {
    case SYS_epoll_wait:
    case SYS_semop:
    case SYS_semtimedop:
    case SYS_rt_sigtimedwait:
    case SYS_msgrcv:
    case SYS_msgsnd:
    // On sockets with their own timeout (SO_RCVTIMEO, SO_SNDTIMEO).
    case SYS_accept:
    case SYS_accept4:
    case SYS_read:
    case SYS_readv:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_write:
    case SYS_writev:
    case SYS_sendto:
    case SYS_sendmsg: return 1;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
    case SYS_io_uring_enter: return call->r8 == 0;
    default: return 0;
    }
}

void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns) {
    if (stop->si_code >> 8 != PTRACE_EVENT_STOP || stop->si_signo != SIGTRAP) return;
    struct user_regs_struct call;
    struct iovec place = {.iov_base = &call, .iov_len = sizeof(call)};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) != 0 || call.cs != USER_CODE_64 || (int64_t)call.rax != -EINTR) return;
    if (!clr_can_restart(&call)) return;
    if (!clr_is_endless(&call) && clb_now_ns() - asked_ns > MOST_WAITED_NS) return;
    if (clr_has_signal(tid)) return;
    call.rax = call.orig_rax;
    call.rip -= SYSCALL_BYTES;
    // If that fails, the program sees the EINTR.
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &place);
}

#else

void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns) {}

#endif
