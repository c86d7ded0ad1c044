#define _GNU_SOURCE
#include "cll_signal.h"

#include "clb_beacon.h"
#include "cll_linux.h"
#include "cll_memory.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

// The phases of a request, in the low two bits of `state`; its generation is above them.
enum { IDLE, REQUESTED, COPYING, DONE, PHASES = 3 };
enum {
    SIGNALS = 2,
    UNKNOWN_STACK_BYTES = 16 * 1024, // how much of a stack without known bounds is copied
    SPIN_NS = 50000,           // how long an answer is polled for without a pause: a running thread needs less
    PAUSE_NS = 100000,         // between two polls after that
    COPY_GRACE_NS = 100000000, // how long to wait for a handler that has begun (it may be descheduled)
};

// The request. The watchdog fills it while `state` is IDLE and publishes it with REQUESTED; the handler owns it from
// COPYING to DONE. The generation distinguishes an answer to this request from a late one. It is in the same word, so
// that a descheduled handler cannot take a later request.
static struct {
    uint32_t state;
    pid_t process;
    uint64_t stack_low, stack_high;
    cll_snapshot *snapshot;
} request;

static struct {
    int number;
    int installed;
    struct sigaction previous;
} signals[SIGNALS];

static void cll_handle(int number, siginfo_t *info, void *context);
static int cll_is_ours(int number);

static void cll_copy_registers(cll_snapshot *snapshot, const ucontext_t *context) {
#if defined(__x86_64__)
    // DWARF's numbering (psABI figure 3.36), which libunwind uses: rax rdx rcx rbx rsi rdi rbp rsp r8…r15 rip.
    static const int order[CLL_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
                                             REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int index = 0; index < CLL_REGISTERS; index++) {
        snapshot->registers[index] = (uint64_t)context->uc_mcontext.gregs[order[index]];
    }
#else
    for (int index = 0; index < 31; index++) snapshot->registers[index] = context->uc_mcontext.regs[index];
    snapshot->registers[CLL_REGISTER_SP] = context->uc_mcontext.sp;
    snapshot->registers[CLL_REGISTER_PC] = context->uc_mcontext.pc;
#endif
    snapshot->known = (1ull << CLL_REGISTERS) - 1;
}

// Not by memcpy, and hidden from the sanitizers: a stack contains the redzones that AddressSanitizer puts around
// variables, and it kills the process for reading across them.
__attribute__((no_sanitize("address", "thread", "hwaddress", "memory"))) static void cll_copy_words(
    uint8_t *to, const uint8_t *from, uint64_t length
) {
    enum { BLOCK = 64 };
    uint64_t done = 0;
    for (; done + BLOCK <= length; done += BLOCK) {
        __builtin_memcpy_inline(to + done, from + done, BLOCK);
        // Otherwise the compiler would turn the loop into a call of memcpy.
        __asm__ volatile("" ::: "memory");
    }
    for (; done < length; done++) {
        to[done] = from[done];
        __asm__ volatile("" ::: "memory");
    }
}

static void cll_copy_stack(cll_snapshot *snapshot) {
    uint64_t begin = snapshot->registers[CLL_REGISTER_SP] - CLL_RED_ZONE;
    snapshot->stack_begin = begin;
    if (begin >= request.stack_low && begin < request.stack_high) {
        uint64_t length = request.stack_high - begin;
        if (length > snapshot->capacity) length = snapshot->capacity;
        cll_copy_words(snapshot->stack, (const uint8_t *)(uintptr_t)begin, length);
        snapshot->stack_length = length;
        snapshot->stack_high = request.stack_high;
    } else {
        // An alternate stack, or one whose bounds are unknown: by the call that cannot fault.
        uint64_t length = snapshot->capacity < UNKNOWN_STACK_BYTES ? snapshot->capacity : UNKNOWN_STACK_BYTES;
        snapshot->stack_length = cll_memory_read(request.process, begin, snapshot->stack, length);
        snapshot->stack_high = 0;
    }
}

// Does what would have happened without our handler.
static void cll_pass_on(int number, siginfo_t *info, void *context) {
    for (int index = 0; index < SIGNALS; index++) {
        if (signals[index].number != number) continue;
        const struct sigaction *previous = &signals[index].previous;
        if (previous->sa_flags & SA_SIGINFO) {
            previous->sa_sigaction(number, info, context);
        } else if (previous->sa_handler == SIG_DFL) {
            // A handler that took the signal over after us may chain to us: then the default action does not apply.
            if (!cll_is_ours(number)) return;
            // If the kernel had no memory to keep the sender (RLIMIT_SIGPENDING), the signal may well be our own
            // request.
            if (info->si_code == SI_USER && info->si_pid == 0) return;
            // Both our signals kill the process by default. The signal is blocked here and is delivered again on
            // return.
            signal(number, SIG_DFL);
            raise(number);
        } else if (previous->sa_handler != SIG_IGN) {
            previous->sa_handler(number);
        }
        return;
    }
}

static void cll_handle(int number, siginfo_t *info, void *context) {
    int saved = errno;
    // No system call: a thread may have a filter that kills the process for a call that it does not need.
    if (info->si_code != SI_QUEUE || info->si_pid != __atomic_load_n(&request.process, __ATOMIC_RELAXED) || info->si_value.sival_ptr != (void *)&request) {
        cll_pass_on(number, info, context);
        errno = saved;
        return;
    }
    // `si_errno` contains the generation: a late answer to a withdrawn request is ours, and no thread waits for it.
    const uint32_t generation = (uint32_t)info->si_errno << 2;
    uint32_t expected = generation | REQUESTED;
    if (__atomic_compare_exchange_n(&request.state, &expected, generation | COPYING, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        cll_copy_registers(request.snapshot, context);
        cll_copy_stack(request.snapshot);
        __atomic_store_n(&request.state, generation | DONE, __ATOMIC_RELEASE);
    }
    errno = saved;
}

static int cll_is_ours(int number) {
    struct sigaction present;
    return sigaction(number, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) && present.sa_sigaction == cll_handle;
}

int cll_signal_install(void) {
    // SIGPROF first: Dispatch's workers and the concurrency pool do not block it. The other is for processes in which
    // a profiler runs.
    const int candidates[SIGNALS] = {SIGPROF, SIGRTMAX - 3};
    int count = 0;
    for (int index = 0; index < SIGNALS; index++) {
        signals[index].number = candidates[index];
        if (cll_is_ours(candidates[index])) {
            signals[index].installed = 1;
            count++;
            continue;
        }
        signals[index].installed = 0;
        struct sigaction present;
        if (sigaction(candidates[index], NULL, &present) != 0) continue;
        if ((present.sa_flags & SA_SIGINFO) || (present.sa_handler != SIG_DFL && present.sa_handler != SIG_IGN)) continue;
        struct sigaction action;
        memset(&action, 0, sizeof(action));
        action.sa_sigaction = cll_handle;
        action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
        sigfillset(&action.sa_mask);
        signals[index].previous = present;
        if (sigaction(candidates[index], &action, NULL) != 0) continue;
        signals[index].installed = 1;
        count++;
    }
    return count;
}

void cll_signal_remove(void) {
    for (int index = 0; index < SIGNALS; index++) {
        if (!signals[index].installed) continue;
        signals[index].installed = 0;
        if (!cll_is_ours(signals[index].number)) continue;
        // Ignoring a signal discards it if it is still pending (POSIX, 2.4.3); the default action would kill the
        // process.
        signal(signals[index].number, SIG_IGN);
        sigaction(signals[index].number, &signals[index].previous, NULL);
    }
}

int cll_signal_choose(uint64_t blocked) {
    for (int index = 0; index < SIGNALS; index++) {
        if (!signals[index].installed || (blocked >> (signals[index].number - 1) & 1)) continue;
        if (cll_is_ours(signals[index].number)) return signals[index].number;
    }
    return 0;
}

int cll_signal_may_be_in_handler(uint64_t blocked, uint64_t caught) {
    enum { FEW = 16, LIBC = 31, FAULTS = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30 };  // SIGILL TRAP BUS FPE SEGV SYS
    uint64_t handled = blocked & caught & ~(UINT64_C(3) << LIBC);  // 32, 33: the C library's own, for a moment
    for (int index = 0; index < SIGNALS; index++) {
        if (signals[index].installed) handled &= ~(1ull << (signals[index].number - 1));
    }
    // Threads that take no signals of their process, like Dispatch's, block three times as many, and not those.
    return handled != 0 && ((handled & FAULTS) != 0 || __builtin_popcountll(blocked) <= FEW);
}

// Whether the answer came before the deadline. It is polled: a handler that wakes a sleeper would make a system call.
static int cll_wait_until_done(uint32_t done_state, uint64_t deadline_ns) {
    const uint64_t spins_end = clb_now_ns() + SPIN_NS;
    for (;;) {
        for (int poll = 0; poll < 32; poll++) {
            if (__atomic_load_n(&request.state, __ATOMIC_ACQUIRE) == done_state) return 1;
            cll_relax();
        }
        const uint64_t now = clb_now_ns();
        if (now < spins_end) continue;
        if (now >= deadline_ns) return __atomic_load_n(&request.state, __ATOMIC_ACQUIRE) == done_state;
        const uint64_t pause = deadline_ns - now < PAUSE_NS ? deadline_ns - now : PAUSE_NS;
        nanosleep(&(struct timespec){.tv_nsec = (long)pause}, NULL);
    }
}

// Waits for the answer to the present request. If it does not come, the request stays open: `cll_signal_withdraw`
// ends it.
static int cll_await(uint32_t generation, uint64_t deadline_ns) {
    if (!cll_wait_until_done(generation | DONE, deadline_ns)) {
        // A handler at work is waited for. If even the grace time passes, the state shows it (BUSY), and the caller
        // does not touch the snapshot.
        if (__atomic_load_n(&request.state, __ATOMIC_ACQUIRE) == (generation | REQUESTED)) return CLL_SIGNAL_PENDING;
        if (!cll_wait_until_done(generation | DONE, clb_now_ns() + COPY_GRACE_NS)) return CLL_SIGNAL_TIMED_OUT;
    }
    __atomic_store_n(&request.state, generation | IDLE, __ATOMIC_RELEASE);
    return CLL_SIGNAL_TAKEN;
}

int cll_signal_has_answer(void) { return (__atomic_load_n(&request.state, __ATOMIC_ACQUIRE) & PHASES) == DONE; }

int cll_signal_withdraw(void) {
    uint32_t state = __atomic_load_n(&request.state, __ATOMIC_ACQUIRE);
    if ((state & PHASES) == IDLE) return CLL_SIGNAL_TIMED_OUT;
    const uint32_t generation = state & ~(uint32_t)PHASES;
    uint32_t expected = generation | REQUESTED;
    if (__atomic_compare_exchange_n(&request.state, &expected, generation | IDLE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return CLL_SIGNAL_TIMED_OUT;
    }
    return cll_await(generation, 0);
}

int cll_signal_capture(pid_t tid, int number, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot,
                       uint64_t deadline_ns) {
    // DONE here is an answer that came after its grace time: it was not taken, and the request is free again.
    uint32_t state = __atomic_load_n(&request.state, __ATOMIC_ACQUIRE);
    if ((state & PHASES) == REQUESTED || (state & PHASES) == COPYING) return CLL_SIGNAL_BUSY;
    // A watchdog that was left behind by a stop may still be here: only one of two claims the request.
    const uint32_t generation = (state & ~(uint32_t)PHASES) + PHASES + 1;
    if (!__atomic_compare_exchange_n(&request.state, &state, generation | IDLE, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return CLL_SIGNAL_BUSY;
    }
    // Also read by a handler that another request's late signal runs.
    __atomic_store_n(&request.process, getpid(), __ATOMIC_RELAXED);
    request.stack_low = stack_low;
    request.stack_high = stack_high;
    request.snapshot = snapshot;
    __atomic_store_n(&request.state, generation | REQUESTED, __ATOMIC_RELEASE);

    siginfo_t info;
    memset(&info, 0, sizeof(info));
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_errno = (int)(generation >> 2);
    info.si_pid = request.process;
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)&request;
    if (syscall(SYS_rt_tgsigqueueinfo, request.process, tid, number, &info) != 0) {
        int error = errno;
        __atomic_store_n(&request.state, generation | IDLE, __ATOMIC_RELEASE);
        return error == ESRCH ? CLL_SIGNAL_NO_THREAD : CLL_SIGNAL_REFUSED;
    }
    return cll_await(generation, deadline_ns);
}

int cll_signal_forget(const cll_snapshot *snapshot) {
    return request.snapshot == snapshot ? cll_signal_withdraw() : CLL_SIGNAL_TIMED_OUT;
}

int cll_signal_is_writing(const cll_snapshot *snapshot) {
    return (__atomic_load_n(&request.state, __ATOMIC_ACQUIRE) & PHASES) == COPYING && request.snapshot == snapshot;
}

uint64_t cll_signal_stack_need(void) {
    uint64_t kernel = getauxval(AT_MINSIGSTKSZ);
    return (kernel != 0 ? kernel : 4096) + 4096;
}
