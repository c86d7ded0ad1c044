// `ForeignProbe first CASE`: what comes after the first wait of a main thread on an epoll instance, which lasts until a line comes on stdin.
#define _GNU_SOURCE
#include "probes.h"
#include <alloca.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

enum { STALL_MS = 700, TURN_MS = 10, TURNS = 60 };

static int set;

static void say(const char *word) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    printf("%s %llu\n", word, (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000);
    fflush(stdout);
}

__attribute__((noinline)) static void first_handler(int ms) {
    say("stalling");
    usleep((useconds_t)ms * 1000);
    say("stalled");
}

__attribute__((noinline)) static void wait_on(int instance, int timeout_ms) {
    epoll_wait(instance, &(struct epoll_event){0}, 1, timeout_ms);
    __asm__ volatile("");
}

// Further in the stack than the loop, as a library that waits for its own answer.
__attribute__((noinline)) static void wait_deeper(int timeout_ms) {
    volatile char *room = alloca(2048);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    wait_on(set, timeout_ms);
    room[1] = 1;
}

// Both end at rest, as a loop to which nothing comes.
static void turn_on(int instance) {
    for (int turn = 0;; turn++) {
        if (turn == TURNS) say("turned");
        wait_on(instance, turn < TURNS ? TURN_MS : -1);
    }
}
static void turn_by_poll(void) {
    for (int turn = 0;; turn++) {
        if (turn == TURNS) say("turned");
        poll(NULL, 0, turn < TURNS ? TURN_MS : -1);
    }
}

int run_first_stall(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    alarm(120);
    set = epoll_create1(EPOLL_CLOEXEC);
    int other = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event interest = {.events = EPOLLIN | EPOLLONESHOT};
    if (epoll_ctl(set, EPOLL_CTL_ADD, STDIN_FILENO, &interest) != 0) return 3;
    if (strcmp(name, "loop") == 0) {
        wait_on(set, -1);
        first_handler(STALL_MS);
        turn_on(set);
    } else if (strcmp(name, "poll") == 0) {
        wait_on(set, -1);
        first_handler(STALL_MS);
        turn_by_poll();
    } else if (strcmp(name, "other") == 0) {
        wait_deeper(-1);
        first_handler(STALL_MS);
        turn_on(other);
    } else if (strcmp(name, "renewed") == 0) {
        wait_on(set, -1);
        close(set);
        first_handler(STALL_MS);
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
