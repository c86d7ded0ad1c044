// Epoll instances that watch a signalfd, which must not be asked (cll_wait_object.h).
#ifndef CLL_SIGNAL_MEMBERS_H
#define CLL_SIGNAL_MEMBERS_H

#include "cll_wait_object.h"

// Whether an instance watches a signalfd, another instance that may, or more than can be looked at.
int cll_may_have_signalfd(pid_t pid, pid_t tid, int32_t epoll, cll_signal_members *known);

// What is ready of such an instance, CLL_WORK_…, each member asked by itself. Of a signalfd its list of signals and those that wait for the thread
// say it. Unknown: a member that is reported once for each event is ready, which it may have been before; or one cannot be asked.
int cll_members_state(int pidfd, pid_t pid, pid_t tid, int32_t epoll);

#endif
