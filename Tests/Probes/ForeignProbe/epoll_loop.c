// `ForeignProbe epoll HANDLER`: an event loop on epoll, and a handler that stalls it in the given way.
#define _GNU_SOURCE
#include "probes.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t work;

static uint64_t now_ms(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

__attribute__((noinline)) void handler_that_sleeps(void) {
    usleep(400000);
    work++;
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Prints its use of the processors: its beginning, its wall-clock and processor time, and the longest time between two readings of the
// clock. Nanoseconds.
__attribute__((noinline)) void handler_that_computes(void) {
    uint64_t start = now_ns(CLOCK_MONOTONIC), cpu = now_ns(CLOCK_THREAD_CPUTIME_ID);
    uint64_t last = start, longest = 0;
    while (last < start + 500000000) {
        for (int step = 0; step < 10000; step++) work = work * 31 + (uint64_t)step;
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        if (now - last > longest) longest = now - last;
        last = now;
    }
    cpu = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
    printf("computed %llu %llu %llu %llu\n", (unsigned long long)start, (unsigned long long)(last - start), (unsigned long long)cpu,
           (unsigned long long)longest);
    fflush(stdout);
}

__attribute__((noinline)) void handler_that_hangs(void) {
    for (;;) pause();
}

static volatile sig_atomic_t is_asked;

static void ask(int signal) { is_asked = signal; }

// Waits for one connection. Called after a SIGUSR1.
__attribute__((noinline)) void handler_that_accepts(void) {
    static struct sockaddr_un address;
    static int listener;
    is_asked = 0;
    if (listener == 0) listener = listen_here(&address, 1);
    close(accept_after(listener, &address, 400));
    work++;
}

// Like an interpreter that finalises itself. Called after a SIGUSR1.
__attribute__((noinline)) void handler_that_exits(void) {
    usleep(400000);
    exit(0);
}

// Like a daemon that cleans up and then ends by the signal that asked it to.
__attribute__((noinline)) void handler_that_ends(void) {
    usleep(400000);
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
}

static int instance;

// Like an interpreter whose finalisation closes its loop's instance long before it exits.
__attribute__((noinline)) void handler_that_closes(void) {
    usleep(400000);
    close(instance);
    usleep(400000);
    exit(0);
}

static void *turn(void *handler);

__attribute__((noinline)) void handler_that_goes_on(void) {
    usleep(400000);
    close(instance);
    usleep(400000);
    turn(NULL);
}

// Rests for a second, so that its place is known; then it turns without resting: an event is always ready for its wait.
__attribute__((noinline)) static void go_around(uint64_t work_ms, int calls) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int turns = 0;; turns++) {
        struct epoll_event event;
        if (epoll_wait(set, &event, 1, turns < 100 ? 10 : 0) == 0 && turns < 100) continue;
        uint64_t end = now_ms() + work_ms;
        for (int call = 0; call < calls; call++) syscall(SYS_getppid);
        while (now_ms() < end) work++;
    }
}

static void *turn(void *handler) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int turns = 0;; turns++) {
        struct epoll_event event;
        epoll_wait(set, &event, 1, 5);
        bool is_on_request = handler == (void *)handler_that_exits || handler == (void *)handler_that_ends
            || handler == (void *)handler_that_closes || handler == (void *)handler_that_goes_on || handler == (void *)handler_that_accepts;
        if (handler == NULL || (is_on_request ? !is_asked : turns % 60 != 40)) continue;
        instance = set;
        ((void (*)(void))handler)();
    }
    return NULL;
}

// Stalls asleep and computing alternately, and prints the times: its last wait before and the return from it, its next wait and the return
// from it. CLOCK_MONOTONIC, nanoseconds.
__attribute__((noinline)) static void turn_timed(void) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    uint64_t before = 0, begin = 0, end = 0, came = 0, went = 0;
    for (int turns = 0;; turns++) {
        struct epoll_event event;
        went = now_ns(CLOCK_MONOTONIC);
        epoll_wait(set, &event, 1, 10);
        came = now_ns(CLOCK_MONOTONIC);
        switch (turns % 30) {
            case 20:
                before = went;
                begin = came;
                if (turns % 60 < 30) usleep(250000);
                else while (now_ns(CLOCK_MONOTONIC) < begin + 250000000) work++;
                end = now_ns(CLOCK_MONOTONIC);
                break;
            case 21:
                printf("stalled %llu %llu %llu %llu\n", (unsigned long long)before, (unsigned long long)begin, (unsigned long long)end,
                       (unsigned long long)came);
                fflush(stdout);
                break;
            default: break;
        }
    }
}

// Its first work stalls it, and it seldom has other work.
static void *turn_seldom(void *handler) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event;
    epoll_wait(set, &event, 1, 2500);
    ((void (*)(void))handler)();
    for (;;) epoll_wait(set, &event, 1, 700);
}

// An idle server with a timer.
static void turn_by_timer(void) {
    int set = epoll_create1(EPOLL_CLOEXEC), ends[2];
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(ends) != 0) _exit(3);
    epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event);
    for (;;) epoll_wait(set, &event, 1, 100);
}

// A thread that rests in accept. It waits for each job's answers on an instance of the job, and for a slow client while an answer is ready.
static void serve_jobs(int jobs) {
    struct sockaddr_un address;
    int listener = listen_here(&address, 8), answer[2], slow[2];
    for (int job = 0; job < jobs; job++) {
        close(accept_after(listener, &address, 300));
        int set = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event event = {.events = EPOLLIN};
        if (pipe(answer) != 0 || pipe(slow) != 0) _exit(3);
        epoll_ctl(set, EPOLL_CTL_ADD, answer[0], &event);
        epoll_wait(set, &event, 1, 700);
        epoll_wait(set, &event, 1, 700);
        if (write(answer[1], "x", 1) != 1) _exit(3);
        struct pollfd client = {.fd = slow[0], .events = POLLIN};
        poll(&client, 1, 400);
        close(set);
        for (int end = 0; end < 2; end++) {
            close(answer[end]);
            close(slow[end]);
        }
    }
}

// Its first waits come before it sets its name.
static void *turn_named_late(void *name) {
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int turns = 0; turns < 100; turns++) epoll_wait(set, &(struct epoll_event){0}, 1, 5);
    close(set);
    pthread_setname_np(pthread_self(), name);
    return turn(NULL);
}

int run_epoll_loop(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    void *handler = strcmp(name, "sleep") == 0     ? (void *)handler_that_sleeps
                    : strcmp(name, "compute") == 0 ? (void *)handler_that_computes
                    : strcmp(name, "hang") == 0    ? (void *)handler_that_hangs
                    : strcmp(name, "accept") == 0  ? (void *)handler_that_accepts
                    : strcmp(name, "exit") == 0    ? (void *)handler_that_exits
                    : strcmp(name, "end") == 0     ? (void *)handler_that_ends
                    : strcmp(name, "close") == 0   ? (void *)handler_that_closes
                    : strcmp(name, "go-on") == 0   ? (void *)handler_that_goes_on
                    : strcmp(name, "thread") == 0  ? (void *)handler_that_sleeps
                    : strcmp(name, "alone") == 0   ? (void *)handler_that_sleeps
                                                   : NULL;
    signal(SIGUSR1, ask);
    if (strcmp(name, "end") == 0) signal(SIGTERM, ask);
    // The program inherits the signals that the test program's dispatch threads block.
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR1);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &asked, NULL);
    if (strcmp(name, "exec") == 0) {
        // Has rested before, so that it is known.
        int set = epoll_create1(EPOLL_CLOEXEC);
        for (int turns = 0; turns < 200; turns++) epoll_wait(set, &(struct epoll_event){0}, 1, 5);
        execl("/proc/self/exe", "ForeignProbe", arguments[0], "sleep", (char *)NULL);
    }
    if (strcmp(name, "around") == 0 || strcmp(name, "calls") == 0) {
        go_around(strcmp(name, "around") == 0 ? 20 : 2, strcmp(name, "around") == 0 ? 1 : 30);
    }
    if (strcmp(name, "thread") == 0 || strcmp(name, "alone") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn, handler);
        pthread_setname_np(thread, "worker");
        // The process continues without its main thread.
        if (strcmp(name, "alone") == 0) pthread_exit(NULL);
        pause();
    }
    if (strcmp(name, "seldom") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, turn_seldom, (void *)handler_that_sleeps);
        pthread_setname_np(thread, "worker");
        pause();
    }
    if (strcmp(name, "jobs") == 0) {
        serve_jobs(4);
        return 0;
    }
    if (strcmp(name, "names") == 0) {
        // Besides the main thread's loop, one on a thread with a name, one on a thread without, and one on a thread that sets its name
        // later.
        pthread_t threads[3];
        pthread_create(&threads[0], NULL, turn, NULL);
        pthread_setname_np(threads[0], "worker");
        pthread_create(&threads[1], NULL, turn, NULL);
        pthread_create(&threads[2], NULL, turn_named_late, "late");
    }
    if (strcmp(name, "timed") == 0) turn_timed();
    if (strcmp(name, "timer") == 0) turn_by_timer();
    turn(handler);
    return 0;
}
