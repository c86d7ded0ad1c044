// Restarts a wait of another thread that was interrupted by our stop.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

// Makes a thread restart its call if only this stop has interrupted it: the kernel itself restarts most calls, but some (epoll_wait,
// semop, sigtimedwait, calls on sockets with a timeout) return EINTR, which the program would otherwise not see. Not if a signal is pending,
// which rightly ends the wait; not for a wait with a signal mask, which a signal that arrives only now may end.
//
// Call it in the thread that traces `tid`, in the first stop that it requested. `asked_ns`: the time of the request (clb_now_ns); the target ran then, so
// it has not waited longer. A restarted wait begins its timeout again, so it is only restarted within 1 ms. Only on x86-64; elsewhere the first
// argument of an interrupted call is lost.
void clr_restart_wait(pid_t tid, const siginfo_t *stop, uint64_t asked_ns);
