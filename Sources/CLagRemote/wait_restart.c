#define _GNU_SOURCE
#include "wait_restart.h"

#include "clb_beacon.h"
#include "cll_procfs_text.h"

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
    USER_CODE_64 = 0x33,         // the segment of 64-bit code: other code numbers its calls differently
    MOST_WAITED_NS = 1000000,    // by which a time-out may grow
};

// Whether a signal waits that the thread does not block, or whether that cannot be known.
static int clr_has_signal(pid_t tid) {
    char text[4096];
    if (cll_procfs_read(tid, 0, "status", text, sizeof(text)) <= 0) return 1;
    const char *own = cll_status_field(text, "\nSigPnd:\t"), *shared = cll_status_field(text, "\nShdPnd:\t");
    const char *blocked = cll_status_field(text, "\nSigBlk:\t");
    if (own == NULL || shared == NULL || blocked == NULL) return 1;
    uint64_t pending = cll_parse_number(&own, 16) | cll_parse_number(&shared, 16);
    return (pending & ~cll_parse_number(&blocked, 16)) != 0;
}

// Whether the wait has no end of its own: -1, or no time at all.
static int clr_is_endless(const struct user_regs_struct *call) {
    return call->orig_rax == SYS_epoll_pwait2 ? call->r10 == 0 : (int32_t)call->r10 < 0;
}

void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns) {
    if (stop->si_code >> 8 != PTRACE_EVENT_STOP || stop->si_signo != SIGTRAP) return;
    struct user_regs_struct call;
    struct iovec place = {.iov_base = &call, .iov_len = sizeof(call)};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) != 0 || call.cs != USER_CODE_64 || (int64_t)call.rax != -EINTR) return;
    switch (call.orig_rax) {
    case SYS_epoll_wait: break;
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
        if (call.r8 == 0) break;
        return;
    default: return;
    }
    if (!clr_is_endless(&call) && clb_now_ns() - asked_ns > MOST_WAITED_NS) return;
    if (clr_has_signal(tid)) return;
    call.rax = call.orig_rax;
    call.rip -= SYSCALL_BYTES;
    // Where that fails the program sees the EINTR.
    ptrace(PTRACE_SETREGSET, tid, (void *)NT_PRSTATUS, &place);
}

#else

void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns) {}

#endif
