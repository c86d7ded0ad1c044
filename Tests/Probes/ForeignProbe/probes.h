// The programs in ForeignProbe. The first argument of each is its name.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

int run_waits(int count, char **arguments);
int run_epoll_loop(int count, char **arguments);
int run_places(int count, char **arguments);
int run_first_stall(int count, char **arguments);
int run_hostile(int count, char **arguments);
// deny ERRNO NUMBER… -- COMMAND…: runs the command, for which the kernel refuses these system calls.
int run_denied(int count, char **arguments);
// forge KIND: a worker without privileges claims that its master hangs.
int run_forge(int count, char **arguments);
// context HOW [NAMING] [SCHEMA]: publishes OpenTelemetry's contexts.
int run_thread_context(int count, char **arguments);
// sandbox WHEN HOW: a loop that sets a filter, early or late, by prctl or by syscall.
int run_sandboxed(int count, char **arguments);
// plugin LIBRARY: calls a function of a library that is loaded only for a plugin.
int run_plugin(int count, char **arguments);
int run_wrapped(int count, char **arguments);

enum { LISTENING_NAME_BYTES = sizeof(sa_family_t) + 6 };
// A listening socket, and a connection to one. Both exit the program on failure.
int listen_here(struct sockaddr_un *address, int backlog);
int connect_there(const struct sockaddr_un *address);
// Blocks in accept until a client connects, after that time. Returns the connection.
int accept_after(int listener, const struct sockaddr_un *address, int milliseconds);
// A socket to which that many clients have connected.
int listen_with(int clients);
