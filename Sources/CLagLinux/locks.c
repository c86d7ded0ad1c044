// Who holds the lock that a thread sleeps for: what glibc, the kernel's futexes and libdispatch leave in memory.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_linux.h"
#include "cll_memory.h"
#include "cll_thread.h"
#include "cll_waiting.h"

int cll_thread_is_live(pid_t pid, pid_t tid) {
    // EPERM: there is one, and it is not ours to signal.
    return tid > 0 && (cll_tgkill(pid, tid, 0) == 0 || errno == EPERM);
}

static int cll_read_words(pid_t pid, uint64_t address, uint32_t *words, size_t count) {
    return cll_memory_read(pid, address, words, count * sizeof(*words)) == count * sizeof(*words);
}

// Offset of the word in a dispatch queue whose low 30 bits are the tid of the thread that drains it; 0: not known.
static uint32_t queue_owner_offset;

enum { QUEUE_WORDS = 40 };

// Weak: a program that does not link libdispatch has no queues.
extern void *dispatch_queue_create(const char *label, void *attributes) __attribute__((weak));
extern void dispatch_sync_f(void *queue, void *context, void (*work)(void *)) __attribute__((weak));
extern void dispatch_release(void *object) __attribute__((weak));

typedef struct layout {
    uint32_t held[QUEUE_WORDS];
    void *queue;
    int complete;
} layout;

static void cll_find_owner_offset(void *context) {
    layout *layout = context;
    layout->complete = cll_read_words(getpid(), (uint64_t)(uintptr_t)layout->queue, layout->held, QUEUE_WORDS);
}

void cll_lock_prepare(void) {
    if (queue_owner_offset != 0 || !dispatch_queue_create || !dispatch_sync_f || !dispatch_release) return;
    layout layout = {.queue = dispatch_queue_create("lagmonitor.layout", NULL)};
    if (!layout.queue) return;
    dispatch_sync_f(layout.queue, &layout, cll_find_owner_offset);
    uint32_t idle[QUEUE_WORDS];
    if (layout.complete && cll_read_words(getpid(), (uint64_t)(uintptr_t)layout.queue, idle, QUEUE_WORDS)) {
        uint32_t tid = (uint32_t)cll_gettid();
        // The first two words are the class, by which no queue can be recognised.
        for (uint32_t index = 2; index < QUEUE_WORDS; index++) {
            if ((layout.held[index] & FUTEX_TID_MASK) != tid || (idle[index] & FUTEX_TID_MASK) == tid) continue;
            queue_owner_offset = index * (uint32_t)sizeof(uint32_t);
            break;
        }
    }
    dispatch_release(layout.queue);
}

pid_t cll_queue_owner(const void *queue) {
    uint32_t word;
    if (queue_owner_offset == 0 || !cll_read_words(getpid(), (uint64_t)(uintptr_t)queue + queue_owner_offset, &word, 1)) return 0;
    pid_t owner = (pid_t)(word & FUTEX_TID_MASK);
    return cll_thread_is_live(getpid(), owner) ? owner : 0;
}

// dispatch_sync sleeps in an event on its own stack, in a record that holds a pointer to the queue before it.
static void cll_find_queue(pid_t pid, pid_t tid, uint64_t event, uint64_t stack_pointer, cll_lock *lock) {
    enum { BYTES = 192, NEAR = 4096 };
    uint64_t record[BYTES / 8];
    if (queue_owner_offset == 0 || event < stack_pointer + BYTES || event > stack_pointer + NEAR) return;
    uint64_t begin = (event & ~7ull) - BYTES;
    if (cll_memory_read(pid, begin, record, BYTES) != BYTES) return;
    for (int index = BYTES / 8 - 1; index >= 0; index--) {
        uint64_t queue = record[index];
        uint32_t word;
        if (queue < 4096 || (queue & 7) != 0 || !cll_read_words(pid, queue + queue_owner_offset, &word, 1)) continue;
        pid_t owner = (pid_t)(word & FUTEX_TID_MASK);
        // The queue that the thread itself drains is there, too.
        if (owner < 2 || owner == tid || !cll_thread_is_live(pid, owner)) continue;
        uint64_t class;
        if (cll_memory_read(pid, queue, &class, sizeof(class)) != sizeof(class) || class < 4096) continue;
        lock->kind = CLL_LOCK_QUEUE;
        lock->address = queue;
        lock->owner = owner;
        return;
    }
}

// struct __pthread_mutex_s of glibc: lock, count, owner, nusers, kind.
static int cll_is_mutex(pid_t pid, const uint32_t *words, pid_t *owner) {
    // The highest bit of a kind says that it was made as PTHREAD_MUTEX_NORMAL, and not by default.
    enum { MOST_USERS = 1 << 20, MOST_KIND = 0x400, ROBUST = 0x10 };
    // A robust one, whose end the kernel announces when its owner ends, holds the owner's tid.
    int is_robust = (words[4] & ROBUST) != 0 && (words[0] & FUTEX_TID_MASK) == words[2];
    if (words[0] != 1 && words[0] != 2 && !is_robust) return 0;
    if (words[3] == 0 || words[3] > MOST_USERS || words[4] >= MOST_KIND) return 0;
    if (!cll_thread_is_live(pid, (pid_t)words[2])) return 0;
    *owner = (pid_t)words[2];
    return 1;
}

// _IO_lock_t of glibc, the lock of a FILE: lock, count, and the owner's pthread_t in two words.
static int cll_is_stream(pid_t pid, const uint32_t *words, pid_t *owner) {
    enum { MOST_COUNT = 1 << 20 };
    if (words[0] != 1 && words[0] != 2) return 0;
    // Before glibc 2.37 the first locking counts, too.
    if (words[1] > MOST_COUNT) return 0;
    *owner = cll_thread_of_descriptor(pid, (uint64_t)words[3] << 32 | words[2]);
    return *owner != 0;
}

// struct __pthread_rwlock_arch_t of glibc: readers, writers, wrphase_futex, writers_futex, pad3, pad4, cur_writer. A thread waits
// on the third or on the fourth word.
static int cll_is_write_locked(pid_t pid, uint64_t futex, uint64_t *address, pid_t *owner) {
    for (int word = 2; word <= 3; word++) {
        uint32_t lock[7];
        if (futex < 16 || !cll_read_words(pid, futex - (uint64_t)word * 4, lock, 7)) continue;
        // While a writer holds it, both low bits of the readers' word are set: its phase, and locked.
        if ((lock[0] & 3) != 3) continue;
        // 1: set, 2: a thread waits.
        if (lock[2] > 3 || lock[3] > 3 || lock[4] != 0 || lock[5] != 0) continue;
        if (!cll_thread_is_live(pid, (pid_t)lock[6])) continue;
        *address = futex - (uint64_t)word * 4;
        *owner = (pid_t)lock[6];
        return 1;
    }
    return 0;
}

void cll_lock_find(pid_t pid, pid_t tid, const cll_thread_syscall *call, cll_lock *lock) {
    memset(lock, 0, sizeof(*lock));
    if (call->number != SYS_futex) return;
    lock->kind = CLL_LOCK_FUTEX;
    lock->address = call->arguments[0];
    uint32_t word;
    if (!cll_read_words(pid, lock->address, &word, 1)) return;
    int operation = (int)call->arguments[1] & FUTEX_CMD_MASK;
    pid_t holder = (pid_t)(word & FUTEX_TID_MASK);
    if (operation == FUTEX_LOCK_PI || operation == 13 /* FUTEX_LOCK_PI2 */) {
        lock->kind = CLL_LOCK_PRIORITY;
        if (cll_thread_is_live(pid, holder)) lock->owner = holder;
        return;
    }
    uint32_t words[5];
    if (cll_read_words(pid, lock->address, words, 5)
        && (cll_is_mutex(pid, words, &lock->owner) || cll_is_stream(pid, words, &lock->owner))) {
        lock->kind = CLL_LOCK_MUTEX;
        return;
    }
    if (cll_is_write_locked(pid, lock->address, &lock->address, &lock->owner)) {
        lock->kind = CLL_LOCK_READ_WRITE;
        return;
    }
    uint32_t expected = (uint32_t)call->arguments[2];
    int is_thread = word == expected && cll_thread_is_live(pid, holder);
    if (is_thread && !(call->arguments[1] & FUTEX_PRIVATE_FLAG)) {
        // pthread_join waits for the kernel, which knows no private mapping, to clear the tid in the thread's own descriptor.
        uint64_t descriptor = pid == getpid() ? cll_thread_descriptor(holder) : 0;
        if (descriptor != 0 && lock->address >= descriptor && lock->address < descriptor + 4096) {
            lock->kind = CLL_LOCK_THREAD;
            lock->owner = holder;
            return;
        }
    } else if (is_thread && (word & FUTEX_WAITERS)) {
        // dispatch_once marks the word before it waits. A bare number may be anything: a count, a sequence, a state.
        lock->kind = CLL_LOCK_OWNED_WORD;
        lock->owner = holder;
        return;
    }
    // libdispatch's event of a waiting thread: all ones.
    if (word == UINT32_MAX && expected == UINT32_MAX) cll_find_queue(pid, tid, lock->address, call->sp, lock);
}
