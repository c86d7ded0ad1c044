// What a thread waits for: its system call, what the call works on, and the holder of the lock.
//
// Everything here only reads: `/proc`, and memory through cll_memory_read. No lock, no allocation, nothing that
// faults.
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "cll_procfs.h"
#include "cll_snapshot.h"

enum { CLL_WAIT_TARGET_MAX = 192, CLL_WAIT_ADDRESS_MAX = 112, CLL_WAIT_WCHAN_MAX = 48 };

typedef struct cll_wait {
    cll_thread_syscall call;
    int32_t descriptor;         // the descriptor that the call works on; -1: none
    int32_t process;            // the process that it waits for; 0: none, -1: any child
    uint32_t target_length;     // what the descriptor refers to (as in the links of /proc/self/fd), a path, a process's name
    char target[CLL_WAIT_TARGET_MAX];
    uint32_t address_length;    // the socket address that was passed to the call
    uint8_t address[CLL_WAIT_ADDRESS_MAX];
    uint32_t wchan_length;      // the kernel function in which it sleeps
    char wchan[CLL_WAIT_WCHAN_MAX];
} cll_wait;

// Describes the system call in which a thread sleeps. What the kernel does not report is left empty.
void cll_wait_describe(pid_t pid, pid_t tid, const cll_thread_syscall *call, cll_wait *wait);

// The inode of the socket that the call works on; 0 if there is none.
uint32_t cll_wait_socket(const cll_wait *wait);

enum { CLL_CALL_NONE = -1, CLL_CALL_UNKNOWN = -2 };
// The number of the system call in which a thread was when this snapshot was taken by a signal or a sample: the
// instruction before the program counter enters the kernel. CLL_CALL_NONE if it does not; CLL_CALL_UNKNOWN if the
// number is not known.
int64_t cll_snapshot_call(pid_t pid, const cll_snapshot *snapshot);

// Whether a thread, whose registers a signal's handler has copied, was working in a call that a signal shortens, with
// or without SA_RESTART: getrandom, sendfile, copy_file_range, splice, and reading from a device (Linux 6.18;
// signal(7) lists those that sleep).
int cll_snapshot_is_cut(pid_t pid, const cll_snapshot *snapshot);

enum {
    CLL_LOCK_NONE = 0,          // not asleep in a futex
    CLL_LOCK_FUTEX = 1,         // a futex without a known owner
    CLL_LOCK_MUTEX = 2,         // a pthread mutex (pthread_mutex_t of glibc: lock, count, owner, users, kind)
    CLL_LOCK_OWNED_WORD = 3,    // the futex word may be its owner's tid: dispatch_once
    CLL_LOCK_THREAD = 4,        // the futex word is a thread's tid, cleared at its end: pthread_join
    CLL_LOCK_QUEUE = 5,         // dispatch_sync: the queue's state word holds the tid of the thread that drains it
    CLL_LOCK_READ_WRITE = 6,    // a pthread rwlock that a writer holds, or that readers hold while a writer waits for them
    CLL_LOCK_PRIORITY = 7,      // a futex with priority inheritance, whose word is its owner's tid (futex(2)): Swift's Mutex
    CLL_LOCK_CONDITION = 8,     // a pthread condition, which has no owner
    CLL_LOCK_SEMAPHORE = 9,     // a sem_t, which has no owner
    CLL_LOCK_INTERPRETER = 10,  // the lock of a language's runtime, as the runtime reports it; never from cll_lock_find
};

typedef struct cll_lock {
    uint64_t address;           // of the futex; of the queue
    pid_t owner;                // a live thread of the same process; 0: none, or not known
    int32_t kind;               // CLL_LOCK_…
    uint32_t readers;           // how many hold a read-write lock, whose memory does not identify them; 0: none, or not known
} cll_lock;

// Learns where libdispatch stores a queue's owner, from a queue created for this. Allocates and calls libdispatch:
// only at start.
void cll_lock_prepare(void);

// The lock for which a sleeping thread waits, from the arguments of its system call. For another process: as far as
// its libdispatch has the same layout as this one.
void cll_lock_find(pid_t pid, pid_t tid, const cll_thread_syscall *call, cll_lock *lock);

// The thread that drains a dispatch queue now; 0: none, or not known. No lock, no allocation.
pid_t cll_queue_owner(const void *queue);

enum { CLL_QUEUE_COUNTED_MAX = 512 };

// How many blocks and jobs wait in a dispatch queue of this process, at most CLL_QUEUE_COUNTED_MAX; -1: not known. A
// running block does not count as waiting. Not for the main queue while a run loop drains it, which takes out all
// items at once. No lock, no allocation; some 0.4 µs each.
int cll_queue_waiting(const void *queue);

// Whether the process has a thread `tid`.
int cll_thread_is_live(pid_t pid, pid_t tid);
