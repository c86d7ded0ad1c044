#define _GNU_SOURCE
#include "clr_trace.h"

#include "clb_beacon.h"
#include "cll_memory.h"
#include "cll_procfs_text.h"
#include "cll_spare.h"
#include "trap.h"
#include "wait_restart.h"

#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

// The states of a request. The requester moves IDLE to REQUESTED and REQUESTED to WITHDRAWN; the tracer does the rest.
enum { IDLE, REQUESTED, COPYING, DONE, FAILED, WITHDRAWN };

struct clr_tracer {
    uint32_t state;
    uint32_t busy;       // the tracer has a request, possibly a withdrawn one
    uint32_t ending;
    uint32_t owners;     // the requester and the thread: the last one frees it
    int error;           // of FAILED
    pid_t pid, tid;
    uint64_t stack_low, stack_high;
    uint64_t asked_ns;       // when it was requested
    cll_snapshot *snapshot;  // the requester's; only the requester accesses it
    cll_snapshot copy;       // copied while the target was stopped
    uint64_t stop_ns;        // how long it was stopped
    int is_resident;         // whether the pages of `copy.stack` are allocated
    // Called with `context`: one finds the end of a stack; the other copies more during the stop.
    clr_tracer_stack_end stack_end;
    clr_tracer_hook hook;
    void (*release)(void *context);
    void *context;
    sem_t asked, answered;
};

enum {
    MAXIMUM_STACK_BYTES = 128 * 1024,     // how much of a stack is copied while its thread is stopped
    UNKNOWN_STACK_BYTES = 64 * 1024,      // of a stack whose end is not known, such as a fiber's
    COPY_GRACE_NS = 100000000,   // how long to wait for a copy that has begun
};

static void clr_tracer_release(clr_tracer *tracer) {
    if (__atomic_sub_fetch(&tracer->owners, 1, __ATOMIC_ACQ_REL) != 0) return;
    sem_destroy(&tracer->asked);
    sem_destroy(&tracer->answered);
    free(tracer->copy.stack);
    if (tracer->release != NULL) tracer->release(tracer->context);
    free(tracer);
}

// The registers of a stopped thread, in DWARF's order, as in signal.c.
static int clr_read_registers(pid_t tid, cll_snapshot *snapshot) {
    struct user_regs_struct found;
    struct iovec place = {.iov_base = &found, .iov_len = sizeof(found)};
    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_PRSTATUS, &place) != 0) return errno;
#if defined(__x86_64__)
    const uint64_t order[CLL_REGISTERS] = {found.rax, found.rdx, found.rcx, found.rbx, found.rsi, found.rdi, found.rbp, found.rsp, found.r8,
                                           found.r9,  found.r10, found.r11, found.r12, found.r13, found.r14, found.r15, found.rip};
    memcpy(snapshot->registers, order, sizeof(order));
#else
    memcpy(snapshot->registers, found.regs, sizeof(found.regs));
    snapshot->registers[CLL_REGISTER_SP] = found.sp;
    snapshot->registers[CLL_REGISTER_PC] = found.pc;
#endif
    snapshot->known = (1ull << CLL_REGISTERS) - 1;
    return 0;
}

static void clr_read_stack(const clr_tracer *tracer, int pagemap, cll_snapshot *snapshot) {
    uint64_t begin = snapshot->registers[CLL_REGISTER_SP] - CLL_RED_ZONE;
    uint64_t high = begin >= tracer->stack_low && begin < tracer->stack_high ? tracer->stack_high : 0;
    // For another stack, the runtime knows the end. (For a thread's own stack it may assume less: Go for a thread that C started.)
    if (high == 0 && tracer->stack_end != NULL) high = tracer->stack_end(tracer->context, tracer->tid, snapshot);
    if (high <= begin) high = 0;
    uint64_t length = high != 0 ? high - begin : UNKNOWN_STACK_BYTES;
    if (length > snapshot->capacity) length = snapshot->capacity;
    snapshot->stack_begin = begin;
    snapshot->stack_high = high;
    // A page that was never touched could be on userfaultfd: the read, and so the stopped thread, would wait for a program.
    snapshot->stack_length = cll_memory_read_touched(tracer->pid, pagemap, begin, snapshot->stack, length, high != 0);
}

// Stops the thread, copies, releases it. 0, or an errno. `*holds` if it may still be seized, whatever its state: then only
// the exit of this thread surely releases it, and reports a dead one to its parent.
static int clr_trace(clr_tracer *tracer, int pagemap, int *holds) {
    pid_t tid = tracer->tid;
    // Withdrawn before it began: the thread need not stop.
    if (__atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE) != REQUESTED) return 0;
    // The kernel allocates pages at the first write: this must not happen while the thread is stopped.
    if (!tracer->is_resident) memset(tracer->copy.stack, 0, tracer->copy.capacity);
    tracer->is_resident = 1;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0) return errno;
    if (!cll_is_thread_of(tracer->pid, tid)) {
        *holds = 1;
        return ESRCH;
    }
    clr_trap trap;
    int error = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0 ? errno : clr_await_trap(tracer->pid, tid, &trap);
    if (error != 0) {
        *holds = 1;
        return error;
    }
    clr_count_stop(tid);
    uint32_t expected = REQUESTED;
    if (__atomic_compare_exchange_n(&tracer->state, &expected, COPYING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        error = clr_read_registers(tid, &tracer->copy);
        if (error == 0) clr_read_stack(tracer, pagemap, &tracer->copy);
        if (error == 0 && tracer->hook != NULL) tracer->hook(tracer->context, tid, &tracer->copy);
    }
    clr_restart_wait(tid, &trap.stop, tracer->asked_ns);
    // It may have stopped for a signal of its own, which must be delivered.
    long signal = trap.stop.si_code >> 8 == PTRACE_EVENT_STOP ? 0 : trap.stop.si_signo;
    // Ends at the call that releases it: after that, this thread may have to wait for the processor that the target uses.
    const uint64_t end_ns = clb_now_ns();
    if (ptrace(PTRACE_DETACH, tid, NULL, (void *)signal) != 0) *holds = 1;
    tracer->stop_ns = end_ns - clr_trap_since(&trap);
    return error;
}

static int clr_tracer_start(clr_tracer *tracer);

// On a busy machine this thread would wait for a processor, for some 10 ms, while it stops the target. If permitted (CAP_SYS_NICE,
// RLIMIT_RTPRIO), it gets a real-time priority, for some 100 us per stop. Threads that it creates do not inherit that.
static void clr_go_first(void) {
    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &(struct sched_param){.sched_priority = 1});
}

static void *clr_tracer_run(void *context) {
    clr_tracer *tracer = context;
    int holds = 0;
    // Otherwise timers are late by 50 us, during which a target would be stopped.
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
    clr_go_first();
    for (;;) {
        while (sem_wait(&tracer->asked) != 0) continue;
        if (__atomic_load_n(&tracer->ending, __ATOMIC_ACQUIRE)) break;
        int pagemap = cll_memory_open_pagemap(tracer->pid);
        tracer->error = clr_trace(tracer, pagemap, &holds);
        if (pagemap >= 0) cll_spare_close(pagemap);
        uint32_t state = __atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE);
        if (state != WITHDRAWN) {
            uint32_t next = tracer->error == 0 && state == COPYING ? DONE : FAILED;
            if (!__atomic_compare_exchange_n(&tracer->state, &state, next, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) state = WITHDRAWN;
        }
        if (state == WITHDRAWN) __atomic_store_n(&tracer->state, IDLE, __ATOMIC_RELEASE);
        __atomic_store_n(&tracer->busy, 0u, __ATOMIC_RELEASE);
        sem_post(&tracer->answered);
        // The next thread takes over the tracer, which this one no longer accesses. If no thread can be
        // created, this one must stay.
        if (holds && clr_tracer_start(tracer) == 0) return NULL;
    }
    clr_tracer_release(tracer);
    return NULL;
}

static int clr_tracer_start(clr_tracer *tracer) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_t thread;
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, clr_tracer_run, tracer);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return error;
    pthread_setname_np(thread, "lag-tracer");
    pthread_detach(thread);
    return 0;
}

clr_tracer *clr_tracer_create(void) {
    clr_tracer *tracer = calloc(1, sizeof(clr_tracer));
    if (tracer == NULL) return NULL;
    sem_init(&tracer->asked, 0, 0);
    sem_init(&tracer->answered, 0, 0);
    tracer->copy.stack = malloc(MAXIMUM_STACK_BYTES);
    tracer->copy.capacity = MAXIMUM_STACK_BYTES;
    tracer->owners = 2;
    if (tracer->copy.stack != NULL && clr_tracer_start(tracer) == 0) return tracer;
    tracer->owners = 1;
    clr_tracer_release(tracer);
    return NULL;
}

void clr_tracer_set_hook(
    clr_tracer *tracer, clr_tracer_stack_end stack_end, clr_tracer_hook hook, void (*release)(void *context), void *context
) {
    tracer->stack_end = stack_end;
    tracer->hook = hook;
    tracer->release = release;
    tracer->context = context;
}

uint64_t clr_tracer_stop_ns(const clr_tracer *tracer) { return tracer->stop_ns; }

void clr_tracer_destroy(clr_tracer *tracer) {
    clr_tracer_withdraw(tracer);
    __atomic_store_n(&tracer->ending, 1u, __ATOMIC_RELEASE);
    sem_post(&tracer->asked);
    clr_tracer_release(tracer);
}

static int clr_tracer_settle(clr_tracer *tracer) {
    uint32_t state = __atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE);
    if (state != DONE && state != FAILED) return CLL_SIGNAL_TIMED_OUT;
    int error = tracer->error;
    if (state == DONE) {
        cll_snapshot *snapshot = tracer->snapshot;
        memcpy(snapshot->registers, tracer->copy.registers, sizeof(snapshot->registers));
        snapshot->known = tracer->copy.known;
        snapshot->stack_begin = tracer->copy.stack_begin;
        snapshot->stack_high = tracer->copy.stack_high;
        uint64_t length = tracer->copy.stack_length;
        snapshot->stack_length = length < snapshot->capacity ? length : snapshot->capacity;
        memcpy(snapshot->stack, tracer->copy.stack, snapshot->stack_length);
    }
    __atomic_store_n(&tracer->state, IDLE, __ATOMIC_RELEASE);
    if (state == DONE) return CLL_SIGNAL_TAKEN;
    return error == ESRCH || error == 0 ? CLL_SIGNAL_NO_THREAD : CLL_SIGNAL_REFUSED;
}

int clr_tracer_has_answer(clr_tracer *tracer) {
    uint32_t state = __atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE);
    return state == DONE || state == FAILED;
}

int clr_tracer_withdraw(clr_tracer *tracer) {
    uint32_t expected = REQUESTED;
    if (__atomic_compare_exchange_n(&tracer->state, &expected, WITHDRAWN, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return CLL_SIGNAL_TIMED_OUT;
    }
    uint64_t deadline = clb_now_ns() + COPY_GRACE_NS;
    while (__atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE) == COPYING && clb_sem_wait_until(&tracer->answered, deadline)) continue;
    return clr_tracer_settle(tracer);
}

int clr_tracer_capture(clr_tracer *tracer, pid_t pid, pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot,
                       uint64_t deadline_ns) {
    if (__atomic_load_n(&tracer->busy, __ATOMIC_ACQUIRE)) return CLL_SIGNAL_BUSY;
    while (sem_trywait(&tracer->answered) == 0) continue;
    tracer->pid = pid;
    tracer->tid = tid;
    tracer->stack_low = stack_low;
    tracer->stack_high = stack_high;
    tracer->snapshot = snapshot;
    tracer->asked_ns = clb_now_ns();
    tracer->stop_ns = 0;
    tracer->busy = 1;
    __atomic_store_n(&tracer->state, REQUESTED, __ATOMIC_RELEASE);
    sem_post(&tracer->asked);
    while (__atomic_load_n(&tracer->busy, __ATOMIC_ACQUIRE)) {
        if (clb_sem_wait_until(&tracer->answered, deadline_ns)) continue;
        if (__atomic_load_n(&tracer->state, __ATOMIC_ACQUIRE) == REQUESTED) return CLL_SIGNAL_PENDING;
        // The copy is in progress and soon done.
        uint64_t grace = clb_now_ns() + COPY_GRACE_NS;
        while (__atomic_load_n(&tracer->busy, __ATOMIC_ACQUIRE) && clb_sem_wait_until(&tracer->answered, grace)) continue;
        break;
    }
    return clr_tracer_settle(tracer);
}
