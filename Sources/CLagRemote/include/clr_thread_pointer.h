// Where a thread of another process has its thread-local storage.
#ifndef CLR_THREAD_POINTER_H
#define CLR_THREAD_POINTER_H

#include <stdint.h>
#include <sys/types.h>

// The thread pointer of a thread (fs on x86-64), without stopping it; 0: not known. glibc alone: it registers a list of robust locks for every thread, whose
// head lies in the thread's control block, and that begins with its own address, twice. On other processors than x86-64 the block has no such mark.
// Two or three system calls, some 2 us; what the process has written there is a claim.
uint64_t clr_thread_pointer(pid_t pid, pid_t tid);

#endif
