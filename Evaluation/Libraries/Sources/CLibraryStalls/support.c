// Helpers that the scenarios share. They run on the stalled thread only for a few microseconds at the beginning of the stall.
#include "library_stalls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static moment read_clock(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (moment)time.tv_sec * 1000000000u + (moment)time.tv_nsec;
}

moment moment_now(void) { return read_clock(CLOCK_MONOTONIC); }
moment thread_cpu_time(void) { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
struct rusage thread_usage(void) {
    struct rusage usage = {0};
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

void die_with_parent(void) { prctl(PR_SET_PDEATHSIG, SIGKILL); }

void rest_until(moment end) {
    struct timespec time = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) {}
}

void fill_with_text(unsigned char *bytes, size_t count, unsigned seed) {
    for (size_t index = 0; index < count; index++) {
        seed = seed * 1664525u + 1013904223u;
        bytes[index] = "etaoin shrdlu\n  "[seed >> 28];
    }
}

const char *failed(const char *call) {
    static char text[256];
    snprintf(text, sizeof text, "%s: %s", call, strerror(errno));
    return text;
}

struct helper {
    char name[16];
    moment end;
    action take, act;
    void *argument;
    sem_t taken;
};

static void *help(void *argument) {
    struct helper *helper = argument;
    pthread_setname_np(pthread_self(), helper->name);
    if (helper->take) helper->take(helper->argument);
    sem_post(&helper->taken);
    rest_until(helper->end);
    helper->act(helper->argument);
    return NULL;
}

void hold_until(moment end, const char *thread, action take, action give, void *lock) {
    // Never freed: the thread may outlive the stall.
    struct helper *helper = calloc(1, sizeof *helper);
    snprintf(helper->name, sizeof helper->name, "%s", thread);
    helper->end = end;
    helper->take = take;
    helper->act = give;
    helper->argument = lock;
    sem_init(&helper->taken, 0, 0);
    pthread_t made;
    if (pthread_create(&made, NULL, help, helper) != 0) abort();
    pthread_detach(made);
    while (sem_wait(&helper->taken) != 0) {}
}

void act_at(moment end, const char *thread, action act, void *argument) { hold_until(end, thread, NULL, act, argument); }

static int other_process = -1;

const char *take_in_other_process(action take, action give, void *lock) {
    int orders[2], replies[2];
    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) return failed("pipe");
    pid_t child = fork();
    if (child < 0) return failed("fork");
    if (child == 0) {
        die_with_parent();
        close(orders[1]);
        char code = take(lock) == 0 ? 'y' : 'n';
        moment end = 0;
        if (write(replies[1], &code, 1) == 1 && read(orders[0], &end, sizeof end) == sizeof end) rest_until(end);
        give(lock);
        _exit(0);
    }
    close(orders[0]);
    close(replies[1]);
    char code = 0;
    if (read(replies[0], &code, 1) != 1 || code != 'y') return "another process cannot take the lock";
    close(replies[0]);
    other_process = orders[1];
    return NULL;
}

void release_other_process(moment end) {
    if (write(other_process, &end, sizeof end) != sizeof end) abort();
}

static int server_input = -1;
static pid_t server;

const char *start_server(const char *script, char *word, size_t size) {
    int orders[2], replies[2];
    if (pipe2(orders, O_CLOEXEC) != 0 || pipe2(replies, O_CLOEXEC) != 0) return failed("pipe");
    server = fork();
    if (server < 0) return failed("fork");
    if (server == 0) {
        dup2(orders[0], STDIN_FILENO);
        dup2(replies[1], STDOUT_FILENO);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    close(orders[0]);
    close(replies[1]);
    server_input = orders[1];
    static char line[512];
    size_t length = 0;
    while (length + 1 < sizeof line && read(replies[0], line + length, 1) == 1 && line[length] != '\n') length++;
    line[length] = 0;
    close(replies[0]);
    if (strncmp(line, "ready", 5) != 0) return length > 0 ? line : "the server did not start";
    snprintf(word, size, "%s", line[5] ? line + 6 : "");
    return NULL;
}

static const char *file_to_remove;
void remove_at_end(const char *path) { file_to_remove = path; }

void stop_servers(void) {
    if (file_to_remove) unlink(file_to_remove);
    if (server_input < 0) return;
    close(server_input);
    server_input = -1;
    while (waitpid(server, NULL, 0) < 0 && errno == EINTR) {}
}

int scratch_file(size_t bytes, char *path) {
    char name[64] = "/var/tmp/librarystalls-XXXXXX";
    int file = mkostemp(name, O_CLOEXEC);
    if (file < 0) return -1;
    if (path) strcpy(path, name); else unlink(name);
    static char block[1 << 16];
    for (size_t index = 0; index < sizeof block; index++) block[index] = "some text to look at\n"[index % 21];
    for (size_t written = 0; written < bytes; written += sizeof block) {
        if (write(file, block, sizeof block) != (ssize_t)sizeof block) return -1;
    }
    if (bytes > 0) fsync(file);
    lseek(file, 0, SEEK_SET);
    return file;
}

int loopback_listener(int backlog, int *port) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, backlog) != 0) return -1;
    getsockname(listener, (struct sockaddr *)&address, &size);
    *port = ntohs(address.sin_port);
    return listener;
}
