// What the programs have in common: a loop that answers lines on a local port, and stalls that print their own truth:
//
//     T NAME START END CPU       nanoseconds of CLOCK_MONOTONIC, and of CLOCK_THREAD_CPUTIME_ID in between
#pragma once
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#define STALL_UNUSED __attribute__((unused))

static inline uint64_t nat_clock(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}
static inline uint64_t now_ns(void) { return nat_clock(CLOCK_MONOTONIC); }
static inline int ms_left(uint64_t end) { return now_ns() < end; }
static inline uint64_t in_ms(int ms) { return now_ns() + ms * 1000000ull; }
#define REPEAT(work) for (uint64_t end_ns = in_ms(430); ms_left(end_ns);) work

static inline void nat_emit(const char *name, uint64_t start, uint64_t cpu) {
    uint64_t end = now_ns(), used = nat_clock(CLOCK_THREAD_CPUTIME_ID) - cpu;
    char line[200];
    int count = snprintf(line, sizeof line, "T %s %llu %llu %llu\n", name, (unsigned long long)start, (unsigned long long)end, (unsigned long long)used);
    if (write(1, line, count) < 0) exit(1);
}

struct way {
    const char *name;
    void (*fn)(void);
};
STALL_UNUSED __attribute__((noinline)) static void dispatch(const struct way *way, const char *name) {
    if (!strcmp(name, "ping")) return;
    for (; way->name; way++) {
        if (strcmp(way->name, name)) continue;
        uint64_t start = now_ns(), cpu = nat_clock(CLOCK_THREAD_CPUTIME_ID);
        way->fn();
        nat_emit(name, start, cpu);
        return;
    }
}

static inline int listen_tcp(int port) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 16)) exit(1);
    return fd;
}
// One line; less than 0: the client has gone.
static inline int get_line(int fd, char *line, int size) {
    int count = read(fd, line, size - 1);
    if (count <= 0) return -1;
    line[count] = 0;
    line[strcspn(line, "\r\n")] = 0;
    return count;
}
static inline void say_ok(int fd) {
    if (write(fd, "ok\n", 3) < 0) exit(1);
}

STALL_UNUSED static void serve_epoll(int port, const struct way *ways) {
    int listener = listen_tcp(port), set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {}, got[8];
    event.events = EPOLLIN;
    event.data.fd = listener;
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int count = epoll_wait(set, got, 8, -1);
        for (int i = 0; i < count; i++) {
            int fd = got[i].data.fd;
            if (fd == listener) {
                event.data.fd = accept4(listener, 0, 0, SOCK_CLOEXEC);
                epoll_ctl(set, EPOLL_CTL_ADD, event.data.fd, &event);
                continue;
            }
            char line[100];
            if (get_line(fd, line, 100) < 0) {
                close(fd);
                continue;
            }
            dispatch(ways, line);
            say_ok(fd);
        }
    }
}

// Another thread holds a lock for a while.
struct held {
    pthread_mutex_t *mutex;
    int ms;
};
static void *keep(void *argument) {
    struct held *held = (struct held *)argument;
    pthread_mutex_lock(held->mutex);
    usleep(held->ms * 1000);
    pthread_mutex_unlock(held->mutex);
    free(held);
    return 0;
}
STALL_UNUSED __attribute__((noinline)) static void hold_elsewhere(pthread_mutex_t *mutex, int ms) {
    struct held *held = (struct held *)calloc(1, sizeof *held);
    held->mutex = mutex;
    held->ms = ms;
    pthread_t thread;
    pthread_create(&thread, 0, keep, held);
    pthread_detach(thread);
    usleep(3000);
}

// A pipe to which another thread writes later.
struct late {
    int fd, ms;
};
static void *late_answer(void *argument) {
    struct late *late = (struct late *)argument;
    usleep(late->ms * 1000);
    if (write(late->fd, "answer\n", 7) < 0) exit(1);
    close(late->fd);
    free(late);
    return 0;
}
STALL_UNUSED __attribute__((noinline)) static int late_pipe(int ms) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) exit(1);
    struct late *late = (struct late *)calloc(1, sizeof *late);
    late->fd = ends[1];
    late->ms = ms;
    pthread_t thread;
    pthread_create(&thread, 0, late_answer, late);
    pthread_detach(thread);
    return ends[0];
}
