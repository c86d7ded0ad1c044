// The holder of the lock for which a thread sleeps, from what glibc, the kernel's futexes and libdispatch leave in
// memory.
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
    // EPERM: it exists, and this process may not signal it.
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
        // The first two words are the class, by which a queue cannot be recognised.
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

// The offsets in libdispatch of a queue's items, from the word with its owner, and of an item's successor
// (DISPATCH_QUEUE_CLASS_HEADER and DISPATCH_LANE_CLASS_HEADER of queue_internal.h, DISPATCH_OBJECT_HEADER of
// object_internal.h; a job of a Swift task has the same layout). A count is valid only if the items lead from the
// first to the last, and the first is still the first afterwards: otherwise they are being removed, and freed,
// meanwhile.
enum { QUEUE_TAIL = -8, QUEUE_HEAD = 48, ITEM_NEXT = 16 };

int cll_queue_waiting(const void *queue) {
    if (queue_owner_offset == 0) return -1;
    uint64_t state = (uint64_t)(uintptr_t)queue + queue_owner_offset, last, item;
    pid_t own = getpid();
    if (cll_memory_read(own, state + QUEUE_TAIL, &last, sizeof(last)) != sizeof(last)) return -1;
    if (last == 0) return 0;
    if (cll_memory_read(own, state + QUEUE_HEAD, &item, sizeof(item)) != sizeof(item)) return -1;
    uint64_t first = item, now = 0;
    for (int count = 1; item != 0; count++) {
        if (item == last || count == CLL_QUEUE_COUNTED_MAX) {
            int is_same = cll_memory_read(own, state + QUEUE_HEAD, &now, sizeof(now)) == sizeof(now) && now == first;
            return is_same ? count : -1;
        }
        if (cll_memory_read(own, item + ITEM_NEXT, &item, sizeof(item)) != sizeof(item)) return -1;
    }
    return -1;
}

// A thread that sleeps in a futex, and the memory around the word on which it sleeps.
enum { WORDS_BEFORE = 11, WORDS_AFTER = 13 };  // the word itself is the first of those after

typedef struct lock_wait {
    pid_t pid, tid;
    const cll_thread_syscall *call;
    int operation;                  // FUTEX_WAIT, …, without flags
    int is_private;
    uint32_t expected;
    uint32_t words[WORDS_BEFORE + WORDS_AFTER];
    int before, after;              // how many words could be read
} lock_wait;

enum { MOST_WAITERS = 1 << 20 };

static int cll_waits_for_bits(const lock_wait *wait) { return wait->operation == FUTEX_WAIT_BITSET; }

// Reads up to WORDS_BEFORE words that end at an address; returns their number. If the page before is missing, only
// those of the address's own page.
static int cll_read_words_before(pid_t pid, uint64_t address, uint32_t *words) {
    enum { PAGE = 4096 };
    if (cll_read_words(pid, address - WORDS_BEFORE * sizeof(*words), words, WORDS_BEFORE)) return WORDS_BEFORE;
    size_t count = address % PAGE / sizeof(*words);
    if (count >= WORDS_BEFORE) return 0;
    return cll_read_words(pid, address - count * sizeof(*words), words + WORDS_BEFORE - count, count) ? (int)count : 0;
}

// The functions of lock_layout follow: whether these words are such a lock, in a state in which a thread waits for
// it. They store the holder, if the words contain it; the lock's address is that of the words, unless they belong to
// something else.

// The kernel's own rule: the word is the owner's tid (futex(2)).
static int cll_is_priority(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    if (wait->operation != FUTEX_LOCK_PI && wait->operation != 13 /* FUTEX_LOCK_PI2 */) return 0;
    pid_t holder = (pid_t)(words[0] & FUTEX_TID_MASK);
    if (cll_thread_is_live(wait->pid, holder)) lock->owner = holder;
    return 1;
}

// A thread that waits for one of glibc's simple locks sets it to 2 and sleeps while it is 2: a word with another
// purpose has other numbers.
static int cll_is_simply_locked(const lock_wait *wait, const uint32_t *words) {
    return wait->expected == 2 && (words[0] == 1 || words[0] == 2);
}

// struct __pthread_mutex_s of glibc: lock, count, owner, nusers, kind.
static int cll_is_mutex(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    // The highest bit of a kind shows that it was created explicitly as PTHREAD_MUTEX_NORMAL, and not by default.
    enum { MOST_KIND = 0x400, ROBUST = 0x10 };
    // A robust mutex, which the kernel releases when its owner ends, contains the owner's tid.
    int is_robust = (words[4] & ROBUST) != 0 && (words[0] & FUTEX_TID_MASK) == words[2];
    if (!cll_is_simply_locked(wait, words) && !is_robust) return 0;
    if (words[3] == 0 || words[3] > MOST_WAITERS || words[4] >= MOST_KIND) return 0;
    if (!cll_thread_is_live(wait->pid, (pid_t)words[2])) return 0;
    lock->owner = (pid_t)words[2];
    return 1;
}

// _IO_lock_t of glibc, the lock of a FILE: lock, count, and the owner's pthread_t in two words.
static int cll_is_stream(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    if (!cll_is_simply_locked(wait, words)) return 0;
    // Before glibc 2.37 the first locking is counted, too.
    if (words[1] > MOST_WAITERS) return 0;
    lock->owner = cll_thread_of_descriptor(wait->pid, (uint64_t)words[3] << 32 | words[2]);
    return lock->owner != 0;
}

// struct __pthread_rwlock_arch_t of glibc: readers, writers, wrphase_futex, writers_futex, pad3, pad4, cur_writer,
// shared, four words of padding, flags. The readers' word is a count above three bits: writers' phase, locked by a
// writer, readers wait.
static int cll_is_read_write(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    enum { PHASE = 1, WRITER = 2, COUNT_SHIFT = 3, MOST_FLAGS = 2 };
    // 1: set, 2: a thread waits.
    if (words[2] > 3 || words[3] > 3 || words[4] != 0 || words[5] != 0 || words[7] > 1 || words[12] > MOST_FLAGS) return 0;
    if ((words[0] & (PHASE | WRITER)) == (PHASE | WRITER)) {
        if (!cll_thread_is_live(wait->pid, (pid_t)words[6])) return 0;
        lock->owner = (pid_t)words[6];
        return 1;
    }
    // Readers hold it, and a writer that waits for them has announced itself: the count is the number of readers that
    // hold it.
    if ((words[0] & (PHASE | WRITER)) != WRITER || words[6] != 0) return 0;
    uint32_t readers = words[0] >> COUNT_SHIFT;
    if (readers == 0 || readers > MOST_WAITERS) return 0;
    lock->readers = readers;
    return 1;
}

// pthread_join waits for the kernel to clear the tid in the thread's own descriptor; for the kernel this is not a
// private mapping.
static int cll_is_thread(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    pid_t thread = (pid_t)(words[0] & FUTEX_TID_MASK);
    if (wait->is_private || words[0] != wait->expected || !cll_thread_is_live(wait->pid, thread)) return 0;
    if (!cll_thread_has_tid_at(thread, lock->address)) return 0;
    lock->owner = thread;
    return 1;
}

// dispatch_once marks the word before it waits. A plain number may be anything: a count, a sequence, a state.
static int cll_is_owned_word(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    pid_t holder = (pid_t)(words[0] & FUTEX_TID_MASK);
    if (!wait->is_private || words[0] != wait->expected || !(words[0] & FUTEX_WAITERS)) return 0;
    if (!cll_thread_is_live(wait->pid, holder)) return 0;
    lock->owner = holder;
    return 1;
}

// dispatch_sync sleeps in an event, all ones, on its own stack, in a record that has a pointer to the queue before
// it.
static int cll_is_queue(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    enum { BYTES = 192, NEAR = 4096 };
    uint64_t record[BYTES / 8], event = lock->address, stack_pointer = wait->call->sp;
    if (words[0] != UINT32_MAX || wait->expected != UINT32_MAX || queue_owner_offset == 0) return 0;
    if (event < stack_pointer + BYTES || event > stack_pointer + NEAR) return 0;
    if (cll_memory_read(wait->pid, (event & ~7ull) - BYTES, record, BYTES) != BYTES) return 0;
    for (int index = BYTES / 8 - 1; index >= 0; index--) {
        uint64_t queue = record[index], class;
        uint32_t state;
        if (queue < 4096 || (queue & 7) != 0 || !cll_read_words(wait->pid, queue + queue_owner_offset, &state, 1)) continue;
        pid_t owner = (pid_t)(state & FUTEX_TID_MASK);
        // The queue that the thread itself drains is there, too.
        if (owner < 2 || owner == wait->tid || !cll_thread_is_live(wait->pid, owner)) continue;
        if (cll_memory_read(wait->pid, queue, &class, sizeof(class)) != sizeof(class) || class < 4096) continue;
        lock->address = queue;
        lock->owner = owner;
        return 1;
    }
    return 0;
}

// struct __pthread_cond_s of glibc before 2.41: two counters of 64 bits, references and sizes of both groups,
// orig_size, wrefs (the waiters, above three bits), the signals of both groups, on which they wait.
static int cll_is_condition(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    uint32_t waiters = words[9] >> 3, references = (words[4] >> 1) + (words[5] >> 1);
    return cll_waits_for_bits(wait) && waiters > 0 && waiters <= MOST_WAITERS && references > 0 && references <= waiters;
}

// struct new_sem of glibc: value, waiters, private (0, or 128 if processes share it). It does not record which thread
// will post it.
static int cll_is_semaphore(const lock_wait *wait, const uint32_t *words, cll_lock *lock) {
    enum { SHARED = 128 };
    if (!cll_waits_for_bits(wait) || words[0] != 0 || wait->expected != 0) return 0;
    return words[1] > 0 && words[1] <= MOST_WAITERS && words[2] == (wait->is_private ? 0 : SHARED);
}

// The layout of a lock in memory while a thread waits for it.
typedef struct lock_layout {
    int32_t kind;
    int words;          // of 32 bits, to be read
    int8_t sleeps[3];   // the words on which threads sleep; -1: no more
    int (*matches)(const lock_wait *wait, const uint32_t *words, cll_lock *lock);
} lock_layout;

// In this order: layouts that name an owner, which must be a live thread, before those with only a kind.
static const lock_layout layouts[] = {
    {CLL_LOCK_PRIORITY, 1, {0, -1, -1}, cll_is_priority},
    {CLL_LOCK_MUTEX, 5, {0, -1, -1}, cll_is_mutex},
    {CLL_LOCK_MUTEX, 4, {0, -1, -1}, cll_is_stream},
    // A reader that gives precedence to a waiting writer sleeps on the first word.
    {CLL_LOCK_READ_WRITE, 13, {2, 3, 0}, cll_is_read_write},
    {CLL_LOCK_THREAD, 1, {0, -1, -1}, cll_is_thread},
    {CLL_LOCK_OWNED_WORD, 1, {0, -1, -1}, cll_is_owned_word},
    {CLL_LOCK_QUEUE, 1, {0, -1, -1}, cll_is_queue},
    {CLL_LOCK_CONDITION, 12, {10, 11, -1}, cll_is_condition},
    {CLL_LOCK_SEMAPHORE, 3, {0, -1, -1}, cll_is_semaphore},
};

// Whether the lock has this layout, if the thread sleeps on this word of it.
static int cll_lock_matches(const lock_layout *layout, int word, const lock_wait *wait, cll_lock *lock) {
    if (word < 0 || word > wait->before || layout->words - word > wait->after) return 0;
    cll_lock found = {.address = wait->call->arguments[0] - (uint64_t)word * sizeof(uint32_t), .kind = layout->kind};
    if (!layout->matches(wait, wait->words + WORDS_BEFORE - word, &found)) return 0;
    *lock = found;
    return 1;
}

void cll_lock_find(pid_t pid, pid_t tid, const cll_thread_syscall *call, cll_lock *lock) {
    memset(lock, 0, sizeof(*lock));
    if (call->number != SYS_futex) return;
    uint64_t futex = call->arguments[0];
    lock->kind = CLL_LOCK_FUTEX;
    lock->address = futex;
    lock_wait wait = {
        .pid = pid,
        .tid = tid,
        .call = call,
        .operation = (int)call->arguments[1] & FUTEX_CMD_MASK,
        .is_private = (call->arguments[1] & FUTEX_PRIVATE_FLAG) != 0,
        .expected = (uint32_t)call->arguments[2],
    };
    wait.after = (int)(cll_memory_read(pid, futex, wait.words + WORDS_BEFORE, WORDS_AFTER * sizeof(uint32_t)) / sizeof(uint32_t));
    if (wait.after == 0) return;
    wait.before = cll_read_words_before(pid, futex, wait.words);
    for (size_t row = 0; row < sizeof(layouts) / sizeof(layouts[0]); row++) {
        for (size_t index = 0; index < sizeof(layouts[row].sleeps); index++) {
            if (cll_lock_matches(&layouts[row], layouts[row].sleeps[index], &wait, lock)) return;
        }
    }
}
