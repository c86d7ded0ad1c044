// Epoll instances that watch what must not be asked (clr_wait_object.h).
#ifndef CLR_SIGNAL_MEMBERS_H
#define CLR_SIGNAL_MEMBERS_H

#include "clr_wait_object.h"

// What an instance watches: nothing but what may be asked; a signalfd, another instance, or more than can be examined; or something else
// that an answer changes, or of which that is not known.
enum { CLR_MEMBERS_HARMLESS = 0, CLR_MEMBERS_SIGNALS = 1, CLR_MEMBERS_OTHERS = 2 };
int clr_members_risk(pid_t pid, pid_t tid, int32_t epoll, clr_signal_members *known);

// What is ready of such an instance, CLR_WORK_…, each member asked by itself. Of a signalfd its list of signals and those that wait for the thread
// say it. Unknown: a member that is reported once for each event is ready, which it may have been before; or one cannot be asked.
int clr_members_state(int pidfd, pid_t pid, pid_t tid, int32_t epoll);

#endif
