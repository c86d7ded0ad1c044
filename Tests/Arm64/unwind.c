// The stack of another thread of this process: from the registers in a signal's context, and from the two that the kernel shows for a sleeping thread.
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "cll_linux.h"
#include "stack.h"
#include "subjects.h"

// MARK: The other thread

typedef struct subject {
    void (*through)(subject_work work, void *context);
    subject_work work;
    pid_t tid;
    uint64_t low, high;
    int stop;
    int pipe[2];
    sem_t semaphore;
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    uint32_t word;
} subject;

static subject now;

__attribute__((visibility("default"))) void *run_subject(void *unused) {
    cll_thread_stack(pthread_self(), &now.low, &now.high);
    __atomic_store_n(&now.tid, cll_gettid(), __ATOMIC_RELEASE);
    now.through(now.work, &now.stop);
    return NULL;
}

#define WORK __attribute__((noinline, visibility("default"))) void

WORK work_nanosleep(void *stop) {
    struct timespec time = {.tv_nsec = 50000000};
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) nanosleep(&time, NULL);
}
WORK work_read(void *stop) {
    char byte;
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) (void)!read(now.pipe[0], &byte, 1);
}
WORK work_poll(void *stop) {
    struct pollfd entry = {.fd = now.pipe[0], .events = POLLIN};
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) poll(&entry, 1, 50);
}
WORK work_epoll(void *stop) {
    int set = epoll_create1(0);
    struct epoll_event events[4];
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) epoll_wait(set, events, 4, 50);
    close(set);
}
WORK work_semaphore(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) sem_wait(&now.semaphore);
}
WORK work_mutex(void *stop) {
    pthread_mutex_lock(&now.mutex);
    pthread_mutex_unlock(&now.mutex);
}
WORK work_condition(void *stop) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) pthread_cond_wait(&now.condition, &own);
    pthread_mutex_unlock(&own);
}
// Waits like libdispatch and Swift's Mutex: syscall(2) saves no registers.
WORK wait_by_syscall(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) syscall(SYS_futex, &now.word, 128, 0, NULL, NULL, 0);
}
WORK work_syscall(void *stop) {
    wait_by_syscall(stop);
    __asm__ volatile("");
}

// The system call is in this function's own code, so the unwinder must search for its frame pointer.
WORK work_inline(void *stop) {
    char room[400];
    __asm__ volatile("" ::"r"(room) : "memory");  // keeps all of it in use
    room[0] = (char)subject_dig(1);
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {
        register uint64_t x8 __asm__("x8") = SYS_futex, x0 __asm__("x0") = (uint64_t)(uintptr_t)&now.word, x1 __asm__("x1") = 128;
        register uint64_t x2 __asm__("x2") = 0, x3 __asm__("x3") = 0;
        __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    }
    __asm__ volatile("" ::"r"(room) : "memory");
}

static void end_subject(pthread_t thread) {
    __atomic_store_n(&now.stop, 1, __ATOMIC_RELEASE);
    __atomic_store_n(&now.word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &now.word, 129, 100, NULL, NULL, 0);
    sem_post(&now.semaphore);
    pthread_cond_broadcast(&now.condition);
    pthread_mutex_unlock(&now.mutex);
    (void)!write(now.pipe[1], "x", 1);
    pthread_join(thread, NULL);
    close(now.pipe[0]);
    close(now.pipe[1]);
}

static pthread_t begin_subject(void (*through)(subject_work, void *), subject_work work) {
    memset(&now, 0, sizeof(now));
    now.through = through;
    now.work = work;
    (void)!pipe(now.pipe);
    sem_init(&now.semaphore, 0, 0);
    pthread_mutex_init(&now.mutex, NULL);
    pthread_cond_init(&now.condition, NULL);
    pthread_mutex_lock(&now.mutex);
    pthread_t thread;
    pthread_create(&thread, NULL, run_subject, NULL);
    while (__atomic_load_n(&now.tid, __ATOMIC_ACQUIRE) == 0) usleep(1000);
    usleep(30000);
    return thread;
}

// qemu-user delivers a signal without `si_errno`, which contains the number of the request that the handler answers. This handler restores it. A
// process numbers its requests from 1.
static struct sigaction installed;
static int requests, numbers_lost;
static void handle_request(int number, siginfo_t *info, void *context) {
    if (info->si_errno == 0) {
        numbers_lost++;
        info->si_errno = requests;
    }
    installed.sa_sigaction(number, info, context);
}

static int capture(cll_snapshot *snapshot) {
    static int number;
    if (number == 0) {
        number = cll_signal_choose(0);
        sigaction(number, NULL, &installed);
        struct sigaction action = installed;
        action.sa_sigaction = handle_request;
        sigaction(number, &action, NULL);
    }
    requests++;
    return cll_signal_capture(now.tid, number, now.low, now.high, snapshot, clb_now_ns() + 5000000000u);
}

// Reduces the registers from a signal to those that /proc/…/syscall shows for a sleeping thread.
static void forget_registers(cll_snapshot *snapshot) {
    uint32_t code = 0;
    uint64_t pc = snapshot->registers[CLL_REGISTER_PC];
    // If the system call is restarted, the program counter is before its instruction.
    if (cll_memory_read(getpid(), pc, &code, 4) == 4 && code == 0xd4000001) pc += 4;
    cll_thread_syscall call = {.number = (int64_t)snapshot->registers[8], .sp = snapshot->registers[CLL_REGISTER_SP], .pc = pc};
    for (int index = 0; index < 6; index++) call.arguments[index] = snapshot->registers[index];
    memset(snapshot->registers, 0x5a, sizeof(snapshot->registers));
    cll_snapshot_of_syscall(snapshot, call);
}

enum { BY_SIGNAL = 1, PASSIVELY = 2 };

static void check_subject(const char *name, void (*through)(subject_work, void *), subject_work work, const char *names, int ways) {
    cll_snapshot *snapshot = stack_snapshot();
    static stack_walk walk;
    char title[96];
    pthread_t thread = begin_subject(through, work);
    int taken = capture(snapshot);
    if (ways & BY_SIGNAL) {
        snprintf(title, sizeof(title), "signal-%s", name);
        if (taken == CLL_SIGNAL_TAKEN) stack_walk_over(snapshot, getpid(), &walk);
        check(taken == CLL_SIGNAL_TAKEN && stack_has(&walk, names), title, "taken %d, frames %s", taken, walk.text);
    }
    if (ways & PASSIVELY) {
        snprintf(title, sizeof(title), "passive-%s", name);
        forget_registers(snapshot);
        stack_walk_over(snapshot, getpid(), &walk);
        check(taken == CLL_SIGNAL_TAKEN && stack_has(&walk, names), title, "taken %d, frames %s", taken, walk.text);
    }
    end_subject(thread);
    free(snapshot->stack);
    free(snapshot);
}

// MARK: Signal frames

static int handler_stop;
__attribute__((visibility("default"))) void handle_by_spinning(int number) {
    while (!__atomic_load_n(&handler_stop, __ATOMIC_ACQUIRE)) {}
}
// The signal interrupts a function without a frame: only the link register in the signal frame has its return address.
static void check_signal_frame(void) {
    signal(SIGUSR1, handle_by_spinning);
    pthread_t thread = begin_subject(subject_outer, subject_leaf);
    pthread_kill(thread, SIGUSR1);
    usleep(50000);
    cll_snapshot *snapshot = stack_snapshot();
    static stack_walk walk;
    int taken = capture(snapshot), marked = 0;
    stack_walk_over(snapshot, getpid(), &walk);
    for (uint32_t index = 0; index < walk.result.stored; index++) marked += (walk.frames[index].flags & CLU_FRAME_SIGNAL) != 0;
    check(taken == CLL_SIGNAL_TAKEN && stack_has(&walk, "subject_leaf subject_inner subject_middle subject_outer")
              && strcmp(stack_name(&walk.frames[0]), "handle_by_spinning") == 0, "signal-frame", "frames %s", walk.text);
    check(marked == 1 && (walk.frames[1].flags & CLU_FRAME_SIGNAL) != 0, "signal-frame-marked", "frames %s", walk.text);
    __atomic_store_n(&handler_stop, 1, __ATOMIC_RELEASE);
    end_subject(thread);
}

// MARK: Code generated at run time

static void (*made_code)(void *stop, void (*work)(void *));
WORK work_in_made_code(void *stop) {
    made_code(stop, subject_spin);
    __asm__ volatile("");
}

static void check_made_code(void) {
    // stp x29, x30, [sp, #-32]!; mov x29, sp; blr x1; ldp x29, x30, [sp], #32; ret
    static const uint32_t code[] = {0xa9be7bfd, 0x910003fd, 0xd63f0020, 0xa8c27bfd, 0xd65f03c0};
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *memory = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(memory, code, sizeof(code));
    __builtin___clear_cache((char *)memory, (char *)memory + sizeof(code));
    mprotect(memory, page, PROT_READ | PROT_EXEC);
    stack_ranges[0] = (clu_code_range){.start = (uint64_t)(uintptr_t)memory, .end = (uint64_t)(uintptr_t)memory + page, .kind = CLU_CODE_MADE};
    stack_table.range_count = 1;
    made_code = (void (*)(void *, void (*)(void *)))memory;
    check_subject("made-code", subject_outer, work_in_made_code,
                  "subject_spin ? work_in_made_code subject_inner subject_middle subject_outer", BY_SIGNAL);
    stack_table.range_count = 0;
}

// MARK: Registers

// The thread sets its registers to known numbers, then waits for the signal in a loop.
__attribute__((noinline, visibility("default"))) void work_registers(void *stop) {
    __asm__ volatile(
        "mov x1, #101\n mov x7, #107\n mov x15, #115\n mov x19, #119\n mov x28, #128\n mov x30, #130\n"
        "1: ldr w9, [%0]\n cbz w9, 1b\n" ::"r"(stop)
        : "x1", "x7", "x9", "x15", "x19", "x28", "x30", "memory");
}

static void check_registers(void) {
    pthread_t thread = begin_subject(subject_outer, work_registers);
    cll_snapshot *snapshot = stack_snapshot();
    int taken = capture(snapshot);
    const uint64_t *registers = snapshot->registers;
    check(taken == CLL_SIGNAL_TAKEN && registers[1] == 101 && registers[7] == 107 && registers[15] == 115 && registers[19] == 119
              && registers[28] == 128 && registers[30] == 130,
          "signal-registers", "x1 %ld x7 %ld x15 %ld x19 %ld x28 %ld x30 %ld", (long)registers[1], (long)registers[7], (long)registers[15],
          (long)registers[19], (long)registers[28], (long)registers[30]);
    check(registers[CLL_REGISTER_SP] > now.low && registers[CLL_REGISTER_SP] < now.high && registers[CLL_REGISTER_FP] >= registers[CLL_REGISTER_SP]
              && registers[CLL_REGISTER_FP] < now.high,
          "signal-stack-pointer", "sp %lx fp %lx of %lx to %lx", (long)registers[CLL_REGISTER_SP], (long)registers[CLL_REGISTER_FP], (long)now.low, (long)now.high);
    check(snapshot->stack_high == now.high && snapshot->stack_begin + snapshot->stack_length == now.high, "signal-stack-copy",
          "%lx and %lx bytes, up to %lx", (long)snapshot->stack_begin, (long)snapshot->stack_length, (long)now.high);
    end_subject(thread);
}

// MARK: The host

// libunwind's functions must not override the host's functions of the same name.
static void check_host(void) {
    Dl_info info;
    void *function = dlsym(RTLD_DEFAULT, "_Unwind_Backtrace");
    int found = function != NULL && dladdr(function, &info) != 0;
    check(!found || strstr(info.dli_fname, "libunwind") == NULL, "host-keeps-unwinder", "_Unwind_Backtrace is from %s", found ? info.dli_fname : "none");
}

// unwind [signed] [kernel]. `signed`: return addresses are signed. `kernel`: a real kernel delivers the signals, not qemu-user.
int main(int count, char **arguments) {
    const char *failure = stack_prepare();
    if (!check(failure == NULL, "libunwind-loads", "%s", failure)) return 1;
    if (!check(cll_signal_install() > 0, "signal-installs", "no signal is free")) return 1;
    int is_signed = 0, has_kernel = 0;
    for (int index = 1; index < count; index++) {
        is_signed |= strcmp(arguments[index], "signed") == 0;
        has_kernel |= strcmp(arguments[index], "kernel") == 0;
    }
    check(subject_is_signed() == is_signed, "return-addresses-signed", "they are %s", is_signed ? "not" : "signed");
    check_host();
    check_registers();
    const char *chain = "subject_inner subject_middle subject_outer";
    char names[160];
#define CASE(name, work, ways) snprintf(names, sizeof(names), #work " %s", chain), check_subject(name, subject_outer, work, names, ways)
    CASE("spin", subject_spin, BY_SIGNAL);
    CASE("leaf", subject_leaf, BY_SIGNAL);
    CASE("nanosleep", work_nanosleep, BY_SIGNAL | PASSIVELY);
    CASE("read", work_read, BY_SIGNAL | PASSIVELY);
    CASE("poll", work_poll, BY_SIGNAL | PASSIVELY);
    CASE("epoll", work_epoll, BY_SIGNAL | PASSIVELY);
    CASE("semaphore", work_semaphore, BY_SIGNAL | PASSIVELY);
    CASE("mutex", work_mutex, BY_SIGNAL | PASSIVELY);
    CASE("condition", work_condition, BY_SIGNAL | PASSIVELY);
    CASE("syscall", work_syscall, BY_SIGNAL | PASSIVELY);
    CASE("inline-call", work_inline, BY_SIGNAL | PASSIVELY);
    check_subject("syscall-caller", subject_outer, work_syscall, "syscall wait_by_syscall work_syscall subject_inner", BY_SIGNAL | PASSIVELY);
    check_subject("grown-frame", subject_grown, work_syscall, "wait_by_syscall work_syscall subject_inner subject_grown", BY_SIGNAL | PASSIVELY);
    check_subject("inline-call-over-old-records", subject_grown, work_inline, "work_inline subject_inner subject_grown", BY_SIGNAL | PASSIVELY);
    check_subject("untabled", untabled_outer, subject_spin, "subject_spin untabled_inner untabled_outer run_subject", BY_SIGNAL);
    check_subject("untabled-sleep", untabled_outer, work_nanosleep, "work_nanosleep untabled_inner untabled_outer run_subject", BY_SIGNAL | PASSIVELY);
    check_subject("untabled-below-frameless", subject_frameless, subject_spin,
                  "subject_spin untabled_inner untabled_outer subject_frameless run_subject", BY_SIGNAL);
    check_subject("untabled-leaf", subject_outer, untabled_leaf, "untabled_leaf subject_inner subject_middle subject_outer", BY_SIGNAL);
    check_signal_frame();
    check_made_code();
    if (has_kernel) check(numbers_lost == 0, "signal-carries-number", "%d of %d signals had no number", numbers_lost, requests);
    return checks_failed;
}
