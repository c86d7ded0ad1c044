// How a thread's loop is found, changed and ended; and the library's start.
#define _GNU_SOURCE
#include "hot.h"
#include "loop.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread loop_thread loop_self __attribute__((tls_model("initial-exec")));
clb_loop_table *loop_table;

// Whether there is a table to publish to.
static int is_active;
static uint32_t last_process;
static pthread_key_t end_key;

// MARK: Processes

// The first wait of a process that was forked: what the thread knows is its parent's.
static void begin_process(const loop_thread *thread) {
    // Never a number that this memory has seen: only the forking thread and `last_process` remember any.
    uint32_t number = (last_process > thread->process ? last_process : thread->process) + 1;
    if (number == 0) number = 1;
    last_process = number;
    uint32_t wiped = 0;
    __atomic_compare_exchange_n(&hot.process, &wiped, number, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static void begin_thread(loop_thread *thread) {
    if (hot_process() == 0) begin_process(thread);
    memset(thread, 0, sizeof(*thread));
    thread->process = hot_process();
}

// MARK: Loops

static void end_thread(void *value) {
    loop_thread *thread = value;
    // Destructors that come after this one may wait as well: from now on that does not count.
    if (thread->beacon != NULL && loop_is_same_process(thread)) {
        clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_FINISHED);
        clb_loop_table_end(loop_table, thread->index, thread->claim);
    }
    thread->place.sp = 0;
    thread->beacon = NULL;
    thread->is_over = 1;
    thread->process = hot_process();
}

static void write_place(loop_thread *thread, uint64_t address, uint64_t sp) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    __atomic_store_n(&slot->wait_return, address, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->wait_sp, sp, __ATOMIC_RELAXED);
    thread->place = (loop_place){.address = address, .sp = sp};
    thread->other_waits = 0;
}

static loop_thread *rest(loop_thread *thread) {
    clb_beacon_publish_shared(thread->beacon, CLB_ACTIVITY_WAITING);
    return thread;
}

static loop_thread *claim_loop(loop_thread *thread, uint64_t address, uint64_t sp) {
    int32_t index = clb_loop_table_claim_slot(loop_table, CLB_LOOP_FROM_PRELOAD, getpid(), 0, clb_now_ns(), &thread->claim);
    if (index < 0) {
        thread->other_waits = LOOP_WAITS - LOOP_RETRY_WAITS;
        return NULL;
    }
    thread->index = (uint32_t)index;
    // The kernel gives lagmond the rest (name, stack): a program in a sandbox may not be allowed to ask for it.
    __atomic_store_n(&clb_loop_table_slot_at(loop_table, thread->index)->tid, (int32_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
    write_place(thread, address, sp);
    thread->beacon = clb_loop_table_beacon(loop_table, thread->index);
    pthread_setspecific(end_key, thread);
    rest(thread);
    clb_loop_table_publish(loop_table, thread->index, &thread->claim);
    return thread;
}

// Counts a wait at another place: how many there were in a row.
static int32_t count_other(loop_thread *thread, uint64_t address, uint64_t sp) {
    if (!loop_is_at(&thread->other, address, sp)) {
        thread->other = (loop_place){.address = address, .sp = sp};
        thread->other_waits = 0;
    }
    return ++thread->other_waits;
}

static loop_thread *handle_other_place(loop_thread *thread, uint64_t address, uint64_t sp, int may_last) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(loop_table, thread->index);
    if (thread->outer.sp != 0 && loop_is_at(&thread->outer, address, sp)) {
        // The loop within a handler is over.
        thread->outer.sp = 0;
        write_place(thread, address, sp);
        __atomic_store_n(&slot->changes, slot->changes + 1, __ATOMIC_RELAXED);
        return rest(thread);
    }
    if (may_last && count_other(thread, address, sp) >= LOOP_OTHER_WAITS) {
        uint64_t last_ns = __atomic_load_n(&thread->beacon->callout_ns, __ATOMIC_RELAXED);
        if ((int64_t)(clb_now_ns() - last_ns) >= (int64_t)LOOP_GONE_SECONDS * 1000000000) {
            if (sp < thread->place.sp) thread->outer = thread->place;
            else thread->outer.sp = 0;
            write_place(thread, address, sp);
            __atomic_store_n(&slot->changes, slot->changes + 1, __ATOMIC_RELAXED);
            return rest(thread);
        }
    }
    __atomic_store_n(&slot->inner_waits, slot->inner_waits + 1, __ATOMIC_RELAXED);
    return NULL;
}

__attribute__((noinline)) loop_thread *loop_consider(loop_thread *thread, uint64_t address, uint64_t sp, int may_last) {
    if (!__atomic_load_n(&is_active, __ATOMIC_ACQUIRE)) return NULL;
    if (thread->process == 0 || !loop_is_same_process(thread)) begin_thread(thread);
    if (thread->is_over) return NULL;
    if (thread->beacon != NULL) return handle_other_place(thread, address, sp, may_last);
    // A wait that cannot last makes no loop by itself. But who has something to do at each iteration (libuv with pending immediates) waits
    // with time-out 0 at the loop's place again and again, and in earnest only when it is idle: where a wait in earnest was, they count.
    if (!may_last && !loop_is_at(&thread->other, address, sp)) return NULL;
    if (count_other(thread, address, sp) < LOOP_WAITS) return NULL;
    int saved = errno;
    loop_thread *result = claim_loop(thread, address, sp);
    errno = saved;
    return result;
}

// MARK: Start

// Another C library loads this one, too, and ends the program when a symbol is missing: so none is needed here that musl has not.
// But the semaphore in the table is glibc's.
extern const char *gnu_get_libc_version(void) __attribute__((weak));

__attribute__((constructor)) static void begin(void) {
    int saved = errno;
    real_resolve_all();
    const char *path = secure_getenv(CLB_LOOP_TABLE_VARIABLE);
    if (gnu_get_libc_version != NULL && path != NULL && (loop_table = clb_loop_table_open(path)) != NULL) {
        // Linux 4.14. Without it a fork's child could not be distinguished from its parent.
        if (madvise(&hot, sizeof(hot), MADV_WIPEONFORK) == 0 && pthread_key_create(&end_key, end_thread) == 0) {
            clb_loop_table_end_all(loop_table, getpid(), 0);
            last_process = 1;
            __atomic_store_n(&hot.process, last_process, __ATOMIC_RELAXED);
            __atomic_store_n(&is_active, 1, __ATOMIC_RELEASE);
        }
    }
    errno = saved;
}
