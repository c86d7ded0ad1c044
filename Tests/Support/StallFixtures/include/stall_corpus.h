// Stalls of a thread that only C can cause, for the diagnosis corpus. Compiled without frame pointers, like C libraries.
#ifndef STALL_CORPUS_H
#define STALL_CORPUS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

// Mixes the bytes repeatedly until `deadline_ns` of CLOCK_MONOTONIC; uses the frame pointer's register for its arithmetic.
uint64_t corpus_digest(const uint8_t *bytes, size_t size, uint64_t deadline_ns);

// Calls back once for each of `count` items, like parsers and databases.
int64_t corpus_for_each(size_t count, int64_t (*visit)(void *context, size_t index), void *context);

// Gives this process its own mount and network namespaces (and a user namespace if it is not root), with the loopback interface up, and
// replaces /etc/resolv.conf with `path`. For a single-threaded process. 0 or an errno.
int corpus_own_resolver(const char *path);

// Only the calling thread: on one processor, and at a low priority. 0 or an errno.
int corpus_pin_thread(int processor);
int corpus_lower_thread(void);
// The calling thread and the threads that it creates from now on run before the threads of all normal processes, if that is permitted; the
// larger `step`, the earlier. With 0 their priority is normal.
void corpus_prefer_thread(int step);
// The first processor that the calling thread may use, or -1, and their number.
int corpus_first_processor(void);
int corpus_processors(void);

// The two ends of a pipe that no child inherits. 0 or an errno.
int corpus_pipe(int ends[2]);
// Opens a file for reading without the page cache. A descriptor, or a negative errno.
int corpus_open_direct(const char *path);
// The calling thread's usage so far.
struct rusage corpus_thread_usage(void);

#endif
