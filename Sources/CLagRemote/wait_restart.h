// A wait of another thread that a stop of this process has ended.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

// Has a thread make its call again where nothing but this stop has ended it: the kernel makes most calls again by itself, and some (epoll_wait,
// semop, sigtimedwait, those on sockets with a time-out) return EINTR, which its program would not have seen. Not where a signal is pending, which ends the wait by right; not for a wait with a signal
// mask, which a signal may end that comes only now.
//
// For the thread that holds `tid`, in the first stop that it has asked for. `asked_ns`: when it did (clb_now_ns); the thread ran at that time, so
// it has not waited for longer. A wait with a time-out begins it anew, so that it is made again within 1 ms alone. On x86-64; elsewhere the first
// argument of an interrupted call is lost.
void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns);
