#ifndef CLL_SERVED_PEER_H
#define CLL_SERVED_PEER_H

#include <stdint.h>
#include <sys/types.h>

// Whether a process of one thread waits, by this epoll instance, for one connection that was accepted, and else for what is its own (pipes, signals,
// timers): who waits while it is at work is the one who asked. A connection that the process made itself (a broker's, an X server's), a
// listening socket, or a second connection make a loop. What cannot be seen does as well. 10 µs, and 3 µs a member of the instance.
int cll_serves_one_peer(int pidfd, pid_t pid, int32_t epoll);

#endif
