// The waits of `ForeignProbe first` by poll or select.
#define _GNU_SOURCE
#include "waited_set.h"
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// The descriptors of a wait by poll or select: the first becomes ready when a line has arrived.
static int waited[2], waited_count;
static int line_ends[2];

// Reads the line, which no wrapper sees, and ends the wait with a byte or a connection.
static void *pass_on(void *address) {
    char byte = 0;
    while (read(STDIN_FILENO, &byte, 1) == 1 && byte != '\n') continue;
    if (address == NULL) {
        if (write(line_ends[1], "x", 1) != 1) _exit(3);
    } else if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), address, sizeof(struct sockaddr_un)) != 0) {
        _exit(3);
    }
    return NULL;
}

static void pass_line_on(struct sockaddr_un *address) {
    pthread_t thread;
    pthread_create(&thread, NULL, pass_on, address);
    pthread_detach(thread);
}

void wait_on_pipe(void) {
    if (pipe(line_ends) != 0) _exit(3);
    waited[0] = line_ends[0];
    waited[1] = eventfd(0, EFD_CLOEXEC);
    waited_count = 2;
    pass_line_on(NULL);
}

void wait_on_answer(void) {
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, line_ends) != 0) _exit(3);
    waited[0] = line_ends[0];
    waited_count = 1;
    pass_line_on(NULL);
}

void wait_on_new_pipe(void) {
    static int is_second;
    if (is_second++ == 0) return wait_on_pipe();
    if (pipe(line_ends) != 0) _exit(3);
    waited[0] = line_ends[0];
    waited[1] = eventfd(0, EFD_CLOEXEC);
}

void end_wait(void) {
    if (write(line_ends[1], "x", 1) != 1) _exit(3);
}

void close_waited(void) {
    close(line_ends[0]);
    close(line_ends[1]);
    close(waited[1]);
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

void wait_on_listener(int backlog) {
    waited[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    waited_count = 1;
    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "lagmonitor-first-%d", (int)getpid());
    if (bind(waited[0], (struct sockaddr *)&address, sizeof(address)) != 0 || listen(waited[0], backlog) != 0) _exit(3);
    pass_line_on(&address);
}

void connect_client(void) {
    if (connect(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), (struct sockaddr *)&address, sizeof(address)) != 0) _exit(3);
}

void take_line(void) {
    char byte;
    int listens = 0;
    socklen_t length = sizeof(listens);
    getsockopt(waited[0], SOL_SOCKET, SO_ACCEPTCONN, &listens, &length);
    if (listens) accept(waited[0], NULL, NULL);
    else if (read(waited[0], &byte, 1) != 1) _exit(3);
}

const char *waited_call = "poll";

__attribute__((noinline)) void wait_for_set(int timeout_ms) {
    struct pollfd some[2] = {{.fd = waited[0], .events = POLLIN}, {.fd = waited[1], .events = POLLIN}};
    struct timespec time = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    struct timeval value = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int most = 0;
    fd_set reads;
    FD_ZERO(&reads);
    for (int i = 0; i < waited_count; i++) {
        FD_SET(waited[i], &reads);
        most = waited[i] > most ? waited[i] : most;
    }
    if (strcmp(waited_call, "poll") == 0) poll(some, (nfds_t)waited_count, timeout_ms);
    else if (strcmp(waited_call, "ppoll") == 0) ppoll(some, (nfds_t)waited_count, timeout_ms < 0 ? NULL : &time, NULL);
    else if (strcmp(waited_call, "select") == 0) select(most + 1, &reads, NULL, NULL, timeout_ms < 0 ? NULL : &value);
    else if (strcmp(waited_call, "pselect") == 0) pselect(most + 1, &reads, NULL, NULL, timeout_ms < 0 ? NULL : &time, NULL);
    else _exit(64);
}
