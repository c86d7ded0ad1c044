// What an epoll instance of another process watches, as the kernel lists it (proc(5), fdinfo).
#ifndef CLR_EPOLL_MEMBERS_H
#define CLR_EPOLL_MEMBERS_H

#include <stdint.h>
#include <sys/types.h>

typedef struct clr_epoll_member {
    int32_t descriptor;  // the number that it was added by
    uint32_t events;     // of epoll_ctl(2), EPOLLET and EPOLLONESHOT among them
} clr_epoll_member;

// How many descriptors the process has open, since Linux 6.2; else 0.
uint64_t clr_open_descriptors(pid_t pid);

// Gives each member to `visit`, until that returns something other than 0, which is the result then. 0: that were all; -1: the list
// cannot be read; -2: there are more than `most`, or may be more than CLR_MEMBERS_MAX. The kernel makes the whole list at the first
// read and holds the instance's lock meanwhile, for which the program's own calls wait: 0.6 ms for 1,024 members, and 28 ms and more
// for 18,000. So a process with more descriptors is not asked.
enum { CLR_MEMBERS_MAX = 1024 };
int clr_epoll_members_each(
    pid_t pid, int32_t epoll, unsigned most, int (*visit)(const clr_epoll_member *member, void *context), void *context
);

#endif
