// Linux calls that Swift's Glibc module does not carry, and two that need a plain C signature.
#ifndef CLU_LINUX_H
#define CLU_LINUX_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

pid_t clu_gettid(void);
int clu_tgkill(pid_t pid, pid_t tid, int signal);

// Waits until `deadline_ns` of CLOCK_MONOTONIC; UINT64_MAX waits without end.
// Returns 1 when it was posted, 0 on time-out. Interruptions are waited through.
int clu_sem_wait_until(sem_t *semaphore, uint64_t deadline_ns);
// Locks a mutex, unless that takes until `deadline_ns` of CLOCK_MONOTONIC: 0, ETIMEDOUT or another errno.
int clu_mutex_lock_until(pthread_mutex_t *mutex, uint64_t deadline_ns);

// Has the kernel send this process `signal` when the thread that started it ends, so that a helper process never outlives
// its parent, not even one that is stopped. 0 or an errno.
int clu_die_with_parent(int signal);

// For loops that look for another processor's store: lets go of the pipeline for a moment.
static inline void clu_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// The thread that ran the program's constructors (the main thread of any normally started program).
pthread_t clu_main_pthread(void);
// The calling thread's name into `buffer` (16 bytes), or that of another thread of this process.
int clu_thread_name(pthread_t thread, char *buffer, size_t size);
int clu_thread_set_name(pthread_t thread, const char *name);
// Stack bounds of a thread of this process: [*low, *high). Allocates; not for the watchdog. 0 or an errno.
int clu_thread_stack(pthread_t thread, uint64_t *low, uint64_t *high);

// libdispatch's main queue for an event loop of one's own (the hooks CoreFoundation uses): an eventfd that
// becomes readable when the main queue has work, and the call that drains it, main thread only.
int clu_dispatch_main_queue_fd(void);
void clu_dispatch_main_queue_drain(void);

#endif
