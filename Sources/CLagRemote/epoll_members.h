// What an epoll instance of another process watches, as the kernel lists it (proc(5), fdinfo).
#ifndef CLR_EPOLL_MEMBERS_H
#define CLR_EPOLL_MEMBERS_H

#include <stdint.h>
#include <sys/types.h>

typedef struct clr_epoll_member {
    int32_t descriptor;  // the number that it was added by
    uint32_t events;     // of epoll_ctl(2), EPOLLET and EPOLLONESHOT among them
} clr_epoll_member;

// Gives each member to `visit`, until that returns something other than 0, which is the result then. 0: that were all; -1: the list cannot be
// read; -2: there are more than `most`. Some 0.3 µs a member, for which the kernel holds the instance's lock.
int clr_epoll_members_each(
    pid_t pid, int32_t epoll, unsigned most, int (*visit)(const clr_epoll_member *member, void *context), void *context
);

#endif
