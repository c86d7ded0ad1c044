// Sending memory through a Unix socket: macros and a call that Swift's Glibc lacks.
#pragma once

#include <stddef.h>
#include <sys/types.h>

// An anonymous file with these bytes, sealed against every change, as journald requires (memfd_create(2)). Returns
// its descriptor, or -1 with errno.
int cll_sealed_memory(const void *bytes, size_t count);

// Sends `descriptor` in an otherwise empty message; never waits, never raises SIGPIPE. Returns 0, or -1 with errno.
ssize_t cll_send_descriptor(int socket, int descriptor);

// Receives a message into `bytes` and a descriptor that came with it into `*descriptor` (-1: none). For tests.
ssize_t cll_receive_descriptor(int socket, void *bytes, size_t count, int *descriptor);
