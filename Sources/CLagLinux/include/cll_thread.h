// Creating threads, and what a thread stores for itself.
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// A joinable thread with the given stack size in bytes (rounded up to pages and to the system's requirements).
// `body(argument)` runs on it with the creator's signal mask. 0 or an errno.
int cll_thread_create(pthread_t *thread, size_t stack_bytes, void (*body)(void *), void *argument);

// The pthread_t of any thread of this process, by its kernel id; 0 if it is not known. It is at the upper end of the
// thread's stack (for the main thread elsewhere). Two system calls, no lock.
uint64_t cll_thread_descriptor(pid_t tid);

// Where glibc stores the kernel's id of the thread with that descriptor (a word of its struct pthread, which the
// kernel clears at the thread's end); 0: not known. No system call except the first time.
uint64_t cll_thread_tid_address(uint64_t descriptor);

// Whether glibc stores the thread's id at this address of the memory of its process, which may be another one: the
// word on which pthread_join waits. One system call.
int cll_thread_has_tid_at(pid_t tid, uint64_t address);

// The kernel id of the thread of process `pid` whose pthread_t this is, if the kernel confirms that the thread
// belongs to it; otherwise 0. Any number is a valid argument. Reads the process's memory; no lock.
pid_t cll_thread_of_descriptor(pid_t pid, uint64_t descriptor);

// The calling thread's nice value: setting returns 0 or an errno, reading never fails.
int cll_thread_set_nice(int nice_value);
int cll_thread_nice(void);

// The calling thread's run loop, an opaque reference; NULL if it has none.
void *cll_thread_loop(void);
// Stores it. When the thread ends, `finish(loop)` runs on it, and can still get the loop by cll_thread_loop.
void cll_thread_set_loop(void *loop, void (*finish)(void *));
