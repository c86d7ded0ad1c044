// Epoll instances that watch files that must not be polled (clr_wait_object.h).
#ifndef CLR_SIGNAL_MEMBERS_H
#define CLR_SIGNAL_MEMBERS_H

#include "clr_wait_object.h"

// What an instance watches: only files that may be polled; a signalfd, another instance, or more than can be examined; or another file
// whose state a poll changes, or may change.
enum { CLR_MEMBERS_HARMLESS = 0, CLR_MEMBERS_SIGNALS = 1, CLR_MEMBERS_OTHERS = 2 };
int clr_members_risk(pid_t pid, pid_t tid, int32_t epoll, clr_signal_members *known);

// The state of such an instance, CLR_WORK_…, with each member polled separately. A signalfd is evaluated from its list of signals and the thread's
// pending signals. Unknown (`is_edge`): only members that are reported once for each event are ready. Unknown: a member cannot be polled.
int clr_members_state(int pidfd, pid_t pid, pid_t tid, int32_t epoll, int *is_edge);

#endif
