// What lagmond queries from the kernel about another process: sleeping and running threads, their registers, stacks, waits and locks. Needs a real
// kernel: qemu-user has neither /proc/…/syscall nor ptrace nor perf events.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "clr_loop_table.h"
#include "clr_iteration_check.h"
#include "cll_linux.h"
#include "cll_perf_sample.h"
#include "clr_switches.h"
#include "clr_thread_sample.h"
#include "clr_trace.h"
#include "cll_breakpoint.h"
#include "clr_wait_counter.h"
#include "clr_wait_object.h"
#include "cll_waiting.h"
#include "stack.h"
#include "subjects.h"

#define WORK __attribute__((noinline, visibility("default"))) void

// MARK: What the other process does

// In memory of both processes.
typedef struct shared {
    uint64_t low, high;
    int pipe[2];
    int set, event;  // of work_loop
    uint64_t turns;
    int stop;
    pid_t holder;
    pthread_mutex_t mutex;
    pthread_rwlock_t lock;
    pthread_cond_t condition;
    sem_t semaphore;
    uint32_t word, zero;
} shared;

static shared *both;

WORK wait_by_syscall(void *unused) {
    for (;;) syscall(SYS_futex, &both->zero, 128, 0, NULL, NULL, 0);
}
WORK work_syscall(void *unused) {
    wait_by_syscall(unused);
    __asm__ volatile("");
}
WORK work_read(void *unused) {
    char byte;
    while (read(both->pipe[0], &byte, 1) >= 0) {}
}
WORK work_nanosleep(void *unused) {
    struct timespec time = {.tv_sec = 100};
    while (nanosleep(&time, NULL) == 0) {}
}
WORK work_poll(void *unused) {
    struct pollfd entries[2] = {{.fd = both->pipe[0], .events = POLLIN}, {.fd = both->event, .events = POLLIN}};
    while (poll(entries, 2, 100000) >= 0) {}
}
WORK work_epoll(void *unused) {
    struct epoll_event events[4];
    while (epoll_wait(both->set, events, 4, 100000) >= 0) {}
}
// A loop with 200 iterations a second, each with 3 ms of work.
WORK work_loop(void *unused) {
    struct epoll_event events[4];
    for (;;) {
        epoll_wait(both->set, events, 4, 2);
        uint64_t end = clb_now_ns() + 3000000;
        while (clb_now_ns() < end) {}
        __atomic_add_fetch(&both->turns, 1, __ATOMIC_RELEASE);
    }
}
WORK work_mutex(void *unused) { pthread_mutex_lock(&both->mutex), pthread_mutex_unlock(&both->mutex); }
WORK work_write_lock(void *unused) { pthread_rwlock_wrlock(&both->lock), pthread_rwlock_unlock(&both->lock); }
WORK work_stream(void *unused) { flockfile(stderr), funlockfile(stderr); }
WORK work_semaphore(void *unused) { sem_wait(&both->semaphore), sem_post(&both->semaphore); }
WORK work_priority(void *unused) {
    for (;;) syscall(SYS_futex, &both->word, 6 /* FUTEX_LOCK_PI */ | 128, 0, NULL, NULL, 0);
}
WORK work_condition(void *unused) {
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    for (;;) pthread_cond_wait(&both->condition, &own);
}
WORK work_registers(void *unused) {
    __asm__ volatile(
        "mov x1, #101\n mov x7, #107\n mov x15, #115\n mov x19, #119\n mov x28, #128\n mov x30, #130\n"
        "1: ldr w9, [%0]\n cbz w9, 1b\n" ::"r"(&both->stop)
        : "x1", "x7", "x9", "x15", "x19", "x28", "x30", "memory");
}

static void *hold(void *unused) {
    pthread_mutex_lock(&both->mutex);
    pthread_rwlock_wrlock(&both->lock);
    flockfile(stderr);
    both->word = (uint32_t)cll_gettid();
    __atomic_store_n(&both->holder, cll_gettid(), __ATOMIC_RELEASE);
    for (;;) pause();
}

// Starts the other process. It is forked, so it has the same addresses as this process.
static pid_t begin(subject_work work) {
    memset(both, 0, sizeof(*both));
    (void)!pipe(both->pipe);
    both->set = epoll_create1(0);
    both->event = eventfd(0, EFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(both->set, EPOLL_CTL_ADD, both->event, &event);
    pthread_mutex_init(&both->mutex, NULL);
    pthread_rwlock_init(&both->lock, NULL);
    pthread_cond_init(&both->condition, NULL);
    sem_init(&both->semaphore, 0, 0);
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        cll_thread_stack(pthread_self(), &both->low, &both->high);
        pthread_t holder;
        pthread_create(&holder, NULL, hold, NULL);
        while (__atomic_load_n(&both->holder, __ATOMIC_ACQUIRE) == 0) usleep(1000);
        subject_outer(work, NULL);
        _exit(0);
    }
    while (__atomic_load_n(&both->holder, __ATOMIC_ACQUIRE) == 0) usleep(1000);
    usleep(100000);
    return process;
}

static void end(pid_t process) {
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    close(both->pipe[0]), close(both->pipe[1]), close(both->set), close(both->event);
}

static cll_snapshot *snapshot;
static stack_walk walk;

// MARK: Sleeping threads

static int capture_sleeping(pid_t process, cll_thread_syscall *call) {
    int state = cll_procfs_syscall(process, process, call);
    if (state != CLL_SYSCALL_BLOCKED) return state;
    memset(snapshot->registers, 0x5a, sizeof(snapshot->registers));
    cll_snapshot_of_syscall(snapshot, *call);
    uint64_t begin = call->sp - CLL_RED_ZONE, length = both->high - begin;
    snapshot->stack_begin = begin;
    snapshot->stack_high = both->high;
    snapshot->stack_length = cll_memory_read_stack(process, begin, snapshot->stack, length < STACK_BYTES ? length : STACK_BYTES, 1);
    stack_walk_over(snapshot, process, &walk);
    return state;
}

static void check_sleeping(const char *name, subject_work work, long number, uint64_t first, const char *names) {
    char title[96];
    pid_t process = begin(work);
    cll_thread_syscall call = {0};
    int state = capture_sleeping(process, &call);
    snprintf(title, sizeof(title), "sleeping-%s-call", name);
    uint32_t code = 0;
    cll_memory_read(process, call.pc - 4, &code, 4);
    if (first == 1) first = (uint64_t)both->set;
    check(state == CLL_SYSCALL_BLOCKED && call.number == number && (first == UINT64_MAX || call.arguments[0] == first) && code == 0xd4000001, title,
          "state %d, call %ld (expected %ld) with %lx, before pc %x", state, (long)call.number, number, (long)call.arguments[0], code);
    snprintf(title, sizeof(title), "sleeping-%s-stack", name);
    check(state == CLL_SYSCALL_BLOCKED && stack_has(&walk, names), title, "frames %s", walk.text);
    end(process);
}

// MARK: Running threads

static void check_registers(const char *way, int is_taken, int error) {
    char title[96];
    const uint64_t *registers = snapshot->registers;
    snprintf(title, sizeof(title), "%s-registers", way);
    check(is_taken && registers[1] == 101 && registers[7] == 107 && registers[15] == 115 && registers[19] == 119 && registers[28] == 128
              && registers[30] == 130 && registers[CLL_REGISTER_SP] > both->low && registers[CLL_REGISTER_SP] < both->high,
          title, "error %d, x1 %ld x7 %ld x15 %ld x19 %ld x28 %ld x30 %ld sp %lx", error, (long)registers[1], (long)registers[7],
          (long)registers[15], (long)registers[19], (long)registers[28], (long)registers[30], (long)registers[CLL_REGISTER_SP]);
}

static void check_running(void) {
    clr_tracer *tracer = clr_tracer_create();
    pid_t process = begin(work_registers);
    int taken = clr_tracer_capture(tracer, process, process, both->low, both->high, snapshot, clb_now_ns() + 5000000000u);
    check_registers("ptrace", taken == CLL_SIGNAL_TAKEN, taken);
    int where = 0, error = cll_perf_sample(process, both->low, both->high, snapshot, 5000000000u, &where);
    check_registers("perf", error == 0, error);
    end(process);
    process = begin(subject_leaf);
    kill(process, SIGKILL), waitpid(process, NULL, 0);
    // subject_leaf waits for a word, which `begin` does not pass.
    both->stop = 0;
    if ((process = fork()) == 0) subject_outer(subject_leaf, &both->stop), _exit(0);
    usleep(100000);
    const char *names = "subject_leaf subject_inner subject_middle subject_outer";
    uint64_t low = 0, high = 0;
    cll_thread_stack(pthread_self(), &low, &high);
    taken = clr_tracer_capture(tracer, process, process, low, high, snapshot, clb_now_ns() + 5000000000u);
    stack_walk_over(snapshot, process, &walk);
    check(taken == CLL_SIGNAL_TAKEN && stack_has(&walk, names), "ptrace-stack", "taken %d, frames %s", taken, walk.text);
    error = cll_perf_sample(process, low, high, snapshot, 5000000000u, &where);
    stack_walk_over(snapshot, process, &walk);
    check(error == 0 && stack_has(&walk, names), "perf-stack", "error %d, frames %s", error, walk.text);
    cll_thread_syscall call;
    int state = cll_procfs_syscall(process, process, &call);
    check(state == CLL_SYSCALL_RUNNING, "running-shows-no-call", "state %d", state);
    end(process);
    clr_tracer_destroy(tracer);
}

// A signal that interrupts a thread's work in the kernel finds the program counter directly after the system call.
static pid_t reader;
static void *read_zeros(void *unused) {
    size_t size = 32 << 20;
    char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int zeros = open("/dev/zero", O_RDONLY);
    __atomic_store_n(&reader, cll_gettid(), __ATOMIC_RELEASE);
    while (!__atomic_load_n(&both->stop, __ATOMIC_ACQUIRE)) (void)!read(zeros, room, size);
    close(zeros);
    return NULL;
}

static void check_call_at_signal(void) {
    both->stop = 0;
    pthread_t thread;
    pthread_create(&thread, NULL, read_zeros, NULL);
    while (__atomic_load_n(&reader, __ATOMIC_ACQUIRE) == 0) usleep(1000);
    cll_signal_install();
    int seen = 0, other = 0;
    for (int index = 0; index < 20; index++) {
        usleep(3000);
        if (cll_signal_capture(reader, cll_signal_choose(0), 0, 0, snapshot, clb_now_ns() + 5000000000u) != CLL_SIGNAL_TAKEN) continue;
        int64_t call = cll_snapshot_call(getpid(), snapshot);
        seen += call == SYS_read;
        other += call != SYS_read && call != CLL_CALL_NONE;
    }
    check(seen > 10 && other == 0, "call-at-signal", "%d of 20, %d wrong", seen, other);
    __atomic_store_n(&both->stop, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

// MARK: Waits

static void check_loop(void) {
    pid_t process = begin(work_loop);
    cll_thread_syscall call = {0};
    for (int index = 0; index < 4000 && cll_procfs_syscall(process, process, &call) != CLL_SYSCALL_BLOCKED; index++) usleep(500);
    check(call.number == SYS_epoll_pwait && clr_wait_kind(call.number) == CLR_WAIT_EPOLL, "loop-wait-known", "call %ld", (long)call.number);
    int counter = clr_wait_counter_open(process, call.pc);
    clr_switches switches;
    int error = clr_switches_open(process, &switches);
    check(counter >= 0, "wait-counter-opens", "%s", strerror(-counter));
    if (check(error == 0, "switches-open", "%s", strerror(error)) && counter >= 0) {
        check(clr_switches_take(&switches, counter), "switches-take-counter", "%s", strerror(errno));
        clr_switches_set(&switches, 1);
        cll_breakpoint_set(counter, 1);
        uint64_t turns = __atomic_load_n(&both->turns, __ATOMIC_ACQUIRE);
        usleep(600000);
        cll_breakpoint_set(counter, 0);
        clr_switches_set(&switches, 0);
        turns = __atomic_load_n(&both->turns, __ATOMIC_ACQUIRE) - turns;
        uint64_t counted = cll_breakpoint_count(counter), last = 0;
        check(turns > 10 && counted + 3 >= turns && counted <= turns + 3, "wait-counter-counts", "%ld of %ld iterations", (long)counted, (long)turns);
        clr_switch found;
        int passes = 0, own = 0, sleeps = 0, backwards = 0;
        while (clr_switches_next(&switches, UINT64_MAX, &found)) {
            passes += found.kind == CLR_SWITCH_PASS;
            own += found.kind == CLR_SWITCH_PASS && found.sp == call.sp && (int)found.first_argument == both->set;
            sleeps += found.kind == CLR_SWITCH_ASLEEP;
            backwards += found.time_ns < last;
            last = found.time_ns;
        }
        check(passes > 5 && sleeps > 5 && backwards == 0, "switches-recorded", "%d passes, %d sleeps, %d backwards", passes, sleeps, backwards);
        check(own == passes, "passes-have-registers", "%d of %d", own, passes);
        clr_switches_close(&switches);
    }
    if (counter >= 0) close(counter);
    int status = 0;
    check(waitpid(process, &status, WNOHANG) == 0, "wait-counter-does-no-harm", "the program exited with %x", (unsigned)status);
    // The check begins while the loop works.
    int seen = CLR_ITERATION_UNSEEN;
    for (int attempt = 0; attempt < 20 && seen != CLR_ITERATION_SEEN; attempt++) {
        cll_thread_syscall present;
        for (int index = 0; index < 4000 && cll_procfs_syscall(process, process, &present) != CLL_SYSCALL_RUNNING; index++) usleep(200);
        uint64_t seen_ns;
        clr_iteration_check *iteration = clr_iteration_check_begin(process, process, call.number, call.sp);
        usleep(100000);
        seen = clr_iteration_check_end(iteration, &seen_ns);
    }
    check(seen == CLR_ITERATION_SEEN, "iteration-seen", "%d", seen);
    end(process);
}

static void check_object(void) {
    pid_t process = begin(work_epoll);
    cll_thread_syscall call;
    int state = cll_procfs_syscall(process, process, &call), pidfd = (int)syscall(SYS_pidfd_open, process, 0);
    clr_wait_object object;
    clr_work before = {0}, after = {0};
    int is_read = state == CLL_SYSCALL_BLOCKED && clr_wait_object_read(process, &call, &object);
    // A stopped process does not fetch new events.
    kill(process, SIGSTOP);
    usleep(50000);
    if (is_read) clr_wait_object_poll(pidfd, process, process, &object, NULL, &before);
    eventfd_write(both->event, 1);
    if (is_read) clr_wait_object_poll(pidfd, process, process, &object, NULL, &after);
    check(is_read && object.epoll == both->set && before.state == CLR_WORK_NONE && after.state == CLR_WORK_PENDING, "epoll-pending",
          "read %d, instance %d, %d and %d", is_read, object.epoll, before.state, after.state);
    close(pidfd);
    end(process);
    process = begin(work_poll);
    state = cll_procfs_syscall(process, process, &call);
    is_read = state == CLL_SYSCALL_BLOCKED && clr_wait_object_read(process, &call, &object);
    check(is_read && object.epoll < 0 && object.count == 2 && object.waited[1].descriptor == both->event, "poll-descriptors", "read %d, %d of them", is_read,
          is_read ? (int)object.count : 0);
    end(process);
}

// The memory that the events of a wait may take. On aarch64 the structure is not packed.
static void check_results(void) {
    cll_thread_syscall call = {.number = SYS_epoll_pwait, .arguments = {3, 4096, 5}};
    check(clr_results_of_wait(&call).length == 5 * sizeof(struct epoll_event) && sizeof(struct epoll_event) == 16, "epoll-results", "%d bytes for 5",
          (int)clr_results_of_wait(&call).length);
}

// MARK: Locks

static void check_lock(const char *name, subject_work work, int kind, int has_owner) {
    char title[96];
    pid_t process = begin(work);
    cll_thread_syscall call;
    cll_lock lock = {0};
    if (cll_procfs_syscall(process, process, &call) == CLL_SYSCALL_BLOCKED) cll_lock_find(process, process, &call, &lock);
    snprintf(title, sizeof(title), "lock-%s", name);
    check(lock.kind == kind && lock.owner == (has_owner ? both->holder : 0), title, "call %ld, kind %d (expected %d), owner %d (holder %d)", (long)call.number,
          lock.kind, kind, lock.owner, both->holder);
    end(process);
}

// MARK: The preloaded library

static void check_preload(const char *program, const char *library) {
    clb_loop_table *table;
    int descriptor, out[2];
    char path[CLB_LOOP_TABLE_PATH_MAX], line[128] = {0};
    if (clr_loop_table_create(1, &table, &descriptor) != 0) return;
    clr_loop_table_path(descriptor, path);
    (void)!pipe(out);
    pid_t process = fork();
    if (process == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(out[1], 1);
        setenv(CLB_LOOP_TABLE_VARIABLE, path, 1);
        setenv("LD_PRELOAD", library, 1);
        execl(program, program, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (size_t length = 0; length < sizeof(line) - 1 && strchr(line, '\n') == NULL; length++) {
        if (read(out[0], line + length, 1) != 1) break;
    }
    unsigned long sp = 0, function = 0;
    int set = -1, found = 0;
    sscanf(line, "%lx %d %lx", &sp, &set, &function);
    clr_loop_table_entry loop = {0};
    for (int index = 0; index < 600 && !(found && loop.state == CLB_SLOT_LIVE); index++) {
        usleep(20000);
        found = clr_loop_table_read(table, 0, &loop);
    }
    uint64_t place = 0;
    int32_t object = 0;
    clr_loop_table_wait_place(table, 0, &place, &object);
    check(found && loop.state == CLB_SLOT_LIVE && loop.pid == process && loop.tid == process, "preload-finds-loop", "found %d, state %d, process %d of %d",
          found, (int)loop.state, loop.pid, process);
    check(object == set + 1, "preload-epoll", "%d for instance %d", object, set);
    check(place == sp, "preload-stack-pointer", "%lx, expected %lx", (long)place, sp);
    check(loop.wait_return > function && loop.wait_return < function + 512, "preload-return-address", "%lx, for the function at %lx", (long)loop.wait_return, function);
    cll_thread_syscall call = {0};
    for (int index = 0; index < 4000 && cll_procfs_syscall(process, process, &call) != CLL_SYSCALL_BLOCKED; index++) usleep(500);
    check(call.sp <= place && place - call.sp < 512, "preload-wait-below", "sp of the wait %lx, of the place %lx", (long)call.sp, (long)place);
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
    close(out[0]);
    clr_loop_table_destroy(table, descriptor);
}

static int count_descriptors(void) {
    int count = 0;
    for (int number = 0; number < 64; number++) count += fcntl(number, F_GETFD) >= 0;
    return count;
}

// kernel PROGRAM LIBRARY: a program that waits, and the library to preload into it.
int main(int count, char **arguments) {
    both = mmap(NULL, sizeof(*both), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int descriptors = count_descriptors();
    const char *failure = stack_prepare();
    if (!check(failure == NULL, "libunwind-loads", "%s", failure)) return 1;
    // libunwind is loaded on a thread whose seccomp filter refuses pipes.
    check(count_descriptors() == descriptors, "libunwind-opens-no-pipe", "%d descriptors, %d before", count_descriptors(), descriptors);
    snapshot = stack_snapshot();
    check_results();
    check_sleeping("nanosleep", work_nanosleep, SYS_clock_nanosleep, 0, "work_nanosleep subject_inner subject_middle subject_outer");
    check_sleeping("read", work_read, SYS_read, UINT64_MAX, "read work_read subject_inner subject_middle subject_outer");
    check_sleeping("poll", work_poll, SYS_ppoll, UINT64_MAX, "poll work_poll subject_inner subject_middle subject_outer");
    check_sleeping("epoll", work_epoll, SYS_epoll_pwait, 1, "work_epoll subject_inner subject_middle subject_outer");
    check_sleeping("mutex", work_mutex, SYS_futex, (uint64_t)(uintptr_t)&both->mutex, "pthread_mutex_lock work_mutex subject_inner subject_middle");
    check_sleeping("syscall", work_syscall, SYS_futex, (uint64_t)(uintptr_t)&both->zero, "syscall wait_by_syscall work_syscall subject_inner");
    check_running();
    check_call_at_signal();
    check_loop();
    check_object();
    check_lock("mutex", work_mutex, CLL_LOCK_MUTEX, 1);
    check_lock("stream", work_stream, CLL_LOCK_MUTEX, 1);
    check_lock("read-write", work_write_lock, CLL_LOCK_READ_WRITE, 1);
    check_lock("priority", work_priority, CLL_LOCK_PRIORITY, 1);
    check_lock("condition", work_condition, CLL_LOCK_CONDITION, 0);
    check_lock("semaphore", work_semaphore, CLL_LOCK_SEMAPHORE, 0);
    if (count > 2) check_preload(arguments[1], arguments[2]);
    return checks_failed;
}
