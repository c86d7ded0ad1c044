// What only C can do to stall a thread, for the diagnosis corpus. Compiled without frame pointers, as C libraries are.
#ifndef STALL_CORPUS_H
#define STALL_CORPUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

// Mixes the bytes over and over until `deadline_ns` of CLOCK_MONOTONIC; uses the frame pointer's register for its arithmetic.
uint64_t corpus_digest(const uint8_t *bytes, size_t size, uint64_t deadline_ns);

// Calls back once for each of `count` items, as parsers and databases do.
int64_t corpus_for_each(size_t count, int64_t (*visit)(void *context, size_t index), void *context);

// Gives this process mount and network namespaces of its own (and a user namespace where it is not root), with the loopback
// interface up, and puts `path` in place of /etc/resolv.conf. For a process that has one thread. 0 or an errno.
int corpus_own_resolver(const char *path);

// The calling thread alone: on one processor, and at a low priority. 0 or an errno.
int corpus_pin_thread(int processor);
int corpus_lower_thread(void);
// The calling thread and those that it makes from now on run before the threads of all normal processes, where that is
// permitted; the larger `step`, the earlier. With 0 they are as normal as those.
void corpus_prefer_thread(int step);
// The first processor that the calling thread may run on, or -1, and how many there are.
int corpus_first_processor(void);
int corpus_processors(void);

// Two ends of a pipe that no child inherits. 0 or an errno.
int corpus_pipe(int ends[2]);
// Opens a file for reading past the page cache. A descriptor, or a negative errno.
int corpus_open_direct(const char *path);
// What the calling thread has used so far.
struct rusage corpus_thread_usage(void);

#endif
