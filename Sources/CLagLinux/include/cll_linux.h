// Linux calls that Swift's Glibc module lacks, and some that need a plain C signature.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

// The environment's entry at this index, "NAME=value"; NULL after the last. (Swift's Glibc has it only as a variable
// that strict concurrency rejects.) Not while another thread calls setenv or putenv. The name of the shared loop
// table is read from it when the program is loaded: clb_mirror_record_path.
const char *cll_environment_entry(int index);

// memmem(3): the position of the first `needle` in `text`; -1: not found.
long cll_find(const void *text, size_t size, const void *needle, size_t needle_size);

pid_t cll_gettid(void);
int cll_tgkill(pid_t pid, pid_t tid, int signal);

// Makes the kernel send this process `signal` when the thread that started it ends, so that a helper process never
// outlives its parent, not even if it is stopped. 0 or an errno.
int cll_die_with_parent(int signal);

// For loops that poll for another processor's store: pauses the pipeline for a moment.
static inline void cll_relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// The thread that ran the program's constructors (the main thread of any normally started program).
pthread_t cll_main_pthread(void);
// The calling thread's name into `buffer` (16 bytes), or that of another thread of this process.
int cll_thread_name(pthread_t thread, char *buffer, size_t size);
int cll_thread_set_name(pthread_t thread, const char *name);
// Stack bounds of a thread of this process: [*low, *high). Allocates; not for the watchdog. 0 or an errno.
int cll_thread_stack(pthread_t thread, uint64_t *low, uint64_t *high);

// libdispatch's main queue for a custom event loop (the hooks that CoreFoundation uses): an eventfd that becomes
// readable when the main queue has work, and the call that drains it, main thread only.
int cll_dispatch_main_queue_fd(void);
void cll_dispatch_main_queue_drain(void);
