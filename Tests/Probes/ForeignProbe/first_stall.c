// `ForeignProbe first CASE`: what follows a thread's first wait, which lasts until a line arrives on stdin.
#define _GNU_SOURCE
#include "probes.h"
#include "waited_set.h"
#include <alloca.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { STALL_MS = 700, TURN_MS = 10, TURNS = 60, JOBS = 9 };

static int set;

static void say(const char *word) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s %llu\n", word, (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
    fflush(stdout);
}

__attribute__((noinline)) static void wait_on(int instance, int timeout_ms) {
    epoll_wait(instance, &(struct epoll_event){0}, 1, timeout_ms);
    __asm__ volatile("");
}

// Deeper on the stack than the loop, like a library that waits for its own answer.
__attribute__((noinline)) static void wait_deeper(int instance, int timeout_ms) {
    volatile char *room = alloca(2048);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    wait_on(instance, timeout_ms);
    room[1] = 1;
}

// The instance on which the handler waits; -1: it sleeps.
static int handlers_instance = -1;

__attribute__((noinline)) static void first_handler(int ms) {
    say("stalling");
    if (handlers_instance >= 0) wait_deeper(handlers_instance, ms);
    else usleep((useconds_t)ms * 1000);
    say("stalled");
}

// Both end at rest, like a loop without events.
static void turn_on(int instance) {
    for (int turn = 0;; turn++) {
        if (turn == TURNS) say("turned");
        wait_on(instance, turn < TURNS ? TURN_MS : -1);
    }
}

// Like a database client's library, which polls its connection before each write and read.
__attribute__((noinline)) static void ask_as_client(void) {
    int ends[2];
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) _exit(3);
    for (int answer = 0; answer < 3 * JOBS; answer++) {
        struct pollfd own = {.fd = ends[0], .events = POLLIN};
        if (write(ends[1], "x", 1) != 1 || poll(&own, 1, 1000) != 1 || read(ends[0], &byte, 1) != 1) _exit(3);
    }
}

// Deeper on the stack than the loop's wait.
__attribute__((noinline)) static void ask_within(void) {
    volatile char *room = alloca(2048);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    ask_as_client();
    room[1] = 1;
}

static void turn_by_poll(void) {
    for (int turn = 0;; turn++) {
        if (turn == TURNS) say("turned");
        poll(NULL, 0, turn < TURNS ? TURN_MS : -1);
    }
}

// What the first turn does before it stalls.
static void (*before_stall)(void);

// A loop that stalls in the first of that many turns; nothing arrives in the others. With TURNS it remains at rest.
__attribute__((noinline)) static void turn_on_set(int turns) {
    for (int turn = 0; turn < turns; turn++) {
        wait_for_set(turn > 0 ? TURN_MS : -1);
        if (turn > 0) continue;
        take_line();
        if (before_stall != NULL) before_stall();
        first_handler(STALL_MS);
    }
    say("turned");
    if (turns == TURNS) wait_for_set(-1);
}

// A server's first request, and a second client that waits; or a start that does not accept the waiting client.
__attribute__((noinline)) static void hang_with_client(int accepts) {
    wait_on_listener(1);
    wait_for_set(-1);
    if (accepts) {
        take_line();
        connect_client();
    }
    first_handler(100000);
}

// Both clients are connected before the first wait, which is not observed. With a second listening socket their origin is unknown.
__attribute__((noinline)) static void hang_at_once(int listeners) {
    wait_on_listener(4);
    struct sockaddr_un other = {.sun_family = AF_UNIX};
    int second = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listeners > 1 && (bind(second, (struct sockaddr *)&other, sizeof(sa_family_t)) != 0 || listen(second, 1) != 0)) _exit(3);
    connect_client();
    connect_client();
    wait_for_set(-1);
    take_line();
    first_handler(100000);
}

// The same with epoll.
__attribute__((noinline)) static void turn_on_epoll(int turns) {
    for (int turn = 0; turn < turns; turn++) {
        wait_on(set, turn > 0 ? TURN_MS : -1);
        if (turn == 0) first_handler(STALL_MS);
    }
    say("turned");
    if (turns == TURNS) wait_on(set, -1);
}

// Like a program's start: waits for an answer, computes, waits at the same place for others, and then turns elsewhere.
static void start_with(void (*prepare)(void), int closes) {
    for (int answer = 0; answer < JOBS; answer++) {
        if (answer == 0 || closes) prepare();
        if (answer > 0) end_wait();
        wait_for_set(-1);
        take_line();
        if (closes) close_waited();
        if (answer == 0) first_handler(STALL_MS);
    }
    turn_on(set);
}

// MARK: Threads

static void *turn_on_thread(void *kind) {
    if (strcmp(kind, "epoll") == 0) turn_on_epoll(TURNS);
    if (strcmp(kind, "few") == 0) turn_on_epoll(2);
    if (strcmp(kind, "few-set") == 0) turn_on_set(4);
    if (strcmp(kind, "set") == 0) turn_on_set(TURNS);
    return NULL;
}

// Jobs in which a thread polls, deeper than its rest between jobs.
__attribute__((noinline)) static void poll_in_job(int job) {
    volatile char *room = alloca(2048);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    wait_for_set(job == 0 ? -1 : TURN_MS);
    room[1] = 1;
}
static void *work_in_pool(void *argument) {
    static sem_t never;
    sem_init(&never, 0, 0);
    for (int job = 0; job < JOBS; job++) {
        poll_in_job(job);
        if (job == 0) {
            take_line();
            say("stalling");
        }
        struct timespec end;
        clock_gettime(CLOCK_MONOTONIC, &end);
        end.tv_nsec += 400000000;
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        while (sem_clockwait(&never, CLOCK_MONOTONIC, &end) == 0) continue;
        if (job == 0) say("stalled");
    }
    turn_on(set);
    return argument;
}

static void run_thread(void *(*body)(void *), const char *kind) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, (void *)(uintptr_t)kind);
    pthread_join(thread, NULL);
    pause();
}

static void end_slowly(void) { first_handler(STALL_MS); }

static void exit_regularly(int signal) {
    (void)signal;
    exit(0);
}

int run_first_stall(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (count > 2) waited_call = arguments[2];
    alarm(120);
    signal(SIGTERM, exit_regularly);
    // The program inherits the signals that the test program's dispatch threads block.
    sigset_t asked;
    sigemptyset(&asked);
    sigaddset(&asked, SIGTERM);
    sigprocmask(SIG_UNBLOCK, &asked, NULL);
    set = epoll_create1(EPOLL_CLOEXEC);
    int other = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event interest = {.events = EPOLLIN | EPOLLONESHOT};
    if (strcmp(name, "set") == 0 || strcmp(name, "set-client") == 0) {
        if (strcmp(name, "set-client") == 0) before_stall = ask_within;
        wait_on_pipe();
        turn_on_set(TURNS);
    } else if (strcmp(name, "at-once") == 0) {
        // The first wait was not observed.
        wait_on_pipe();
        end_wait();
        turn_on_set(TURNS);
    } else if (strcmp(name, "listener") == 0) {
        wait_on_listener(1);
        turn_on_set(TURNS);
    } else if (strcmp(name, "hang-with-second-client") == 0 || strcmp(name, "hang-before-accept") == 0) {
        hang_with_client(strcmp(name, "hang-with-second-client") == 0);
    } else if (strcmp(name, "hang-on-instance") == 0) {
        struct epoll_event any = {.events = EPOLLIN};
        if (epoll_ctl(other, EPOLL_CTL_ADD, eventfd(0, EFD_CLOEXEC), &any) != 0) return 3;
        handlers_instance = other;
        hang_with_client(1);
    } else if (strcmp(name, "hang-at-once") == 0 || strcmp(name, "hang-at-once-of-two") == 0) {
        hang_at_once(strcmp(name, "hang-at-once-of-two") == 0 ? 2 : 1);
    } else if (strcmp(name, "answer") == 0) {
        start_with(wait_on_answer, 0);
    } else if (strcmp(name, "children") == 0) {
        start_with(wait_on_new_pipe, 1);
    } else if (strcmp(name, "pool") == 0) {
        wait_on_pipe();
        run_thread(work_in_pool, NULL);
    } else if (strcmp(name, "exit") == 0) {
        wait_on_pipe();
        atexit(end_slowly);
        wait_for_set(-1);
        exit(0);
    } else if (strcmp(name, "set-thread") == 0 || strcmp(name, "few-set-thread") == 0) {
        wait_on_pipe();
        run_thread(turn_on_thread, strcmp(name, "set-thread") == 0 ? "set" : "few-set");
    }
    if (epoll_ctl(set, EPOLL_CTL_ADD, STDIN_FILENO, &interest) != 0) return 3;
    if (strcmp(name, "hang-with-client") == 0 || strcmp(name, "hang-with-event") == 0) {
        // Connected to itself, without accepting the connection; or with a wake-up that it does not read.
        struct sockaddr_un own = {.sun_family = AF_UNIX};
        int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
        socklen_t length = sizeof(own);
        if (bind(listener, (struct sockaddr *)&own, sizeof(sa_family_t)) != 0 || listen(listener, 1) != 0) return 5;
        if (getsockname(listener, (struct sockaddr *)&own, &length) != 0) return 5;
        struct epoll_event any = {.events = EPOLLIN};
        if (epoll_ctl(set, EPOLL_CTL_ADD, listener, &any) != 0) return 5;
        wait_on(set, -1);
        int is_event = strcmp(name, "hang-with-event") == 0;
        if (is_event && epoll_ctl(set, EPOLL_CTL_ADD, eventfd(1, EFD_CLOEXEC), &any) != 0) return 5;
        if (!is_event && connect(client, (struct sockaddr *)&own, length) != 0) return 5;
        first_handler(100000);
    }
    if (strcmp(name, "loop") == 0 || strcmp(name, "client") == 0) {
        wait_on(set, -1);
        first_handler(STALL_MS);
        if (strcmp(name, "client") == 0) ask_as_client();
        turn_on(set);
    } else if (strcmp(name, "thread") == 0 || strcmp(name, "few-thread") == 0) {
        run_thread(turn_on_thread, strcmp(name, "thread") == 0 ? "epoll" : "few");
    } else if (strcmp(name, "poll") == 0) {
        wait_on(set, -1);
        first_handler(STALL_MS);
        turn_by_poll();
    } else if (strcmp(name, "other") == 0) {
        wait_deeper(set, -1);
        first_handler(STALL_MS);
        turn_on(other);
    } else if (strcmp(name, "renewed") == 0) {
        wait_on(set, -1);
        first_handler(STALL_MS);
        close(set);
        // The same number.
        if (epoll_create1(EPOLL_CLOEXEC) != set) return 4;
        turn_on(set);
    } else if (strcmp(name, "hang") == 0) {
        wait_on(set, -1);
        first_handler(100000);
    } else {
        return 64;
    }
    return 0;
}
