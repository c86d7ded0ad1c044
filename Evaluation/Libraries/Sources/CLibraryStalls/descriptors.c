// Waits on descriptors and signals of the kernel: full pipes and sockets, timers, pidfd, signalfd, inotify, terminals.
#include "tables.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2] = {-1, -1};
static int descriptor = -1;
static pid_t child;
static pthread_t stalled;
static char block[4096];
static volatile long done;

static int drain(void *argument) {
    // Reads everything, because the kernel wakes the writer of a datagram only when most of the queue is empty.
    char bytes[4096];
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (read(ends[0], bytes, sizeof bytes) > 0) {}
    return 0;
}

static int add_event(void *argument) {
    uint64_t one = 1;
    return (int)write(descriptor, &one, sizeof one);
}

static int type_line(void *argument) { return (int)write(ends[0], "y\n", 2); }

static int change_file(void *argument) { return (int)write(ends[0], "x", 1); }

static int signal_thread(void *argument) { return pthread_kill(stalled, SIGUSR2); }

static int end_child(void *argument) { return kill(child, SIGKILL); }

// Filled to the last byte, so that the next write blocks.
static const char *fill(void) {
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (write(ends[1], block, sizeof block) > 0) {}
    fcntl(ends[1], F_SETFL, 0);
    return NULL;
}

static const char *make_full_pipe(void) { return pipe2(ends, O_CLOEXEC) == 0 ? fill() : failed("pipe2"); }

static const char *make_full_datagram(void) {
    return socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) == 0 ? fill() : failed("socketpair");
}

static const char *make_event(void) { return (descriptor = eventfd(0, EFD_CLOEXEC)) >= 0 ? NULL : failed("eventfd"); }
static const char *make_timer(void) {
    return (descriptor = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) >= 0 ? NULL : failed("timerfd_create");
}
static const char *make_terminal(void) { return openpty(&ends[0], &ends[1], NULL, NULL, NULL) == 0 ? NULL : failed("openpty"); }

static const char *make_watch(void) {
    static char path[64];
    ends[0] = scratch_file(0, path);
    descriptor = inotify_init1(IN_CLOEXEC);
    if (ends[0] < 0 || descriptor < 0 || inotify_add_watch(descriptor, path, IN_MODIFY) < 0) return failed("inotify");
    remove_at_end(path);
    return NULL;
}

static const char *make_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
    return descriptor >= 0 ? NULL : failed("signalfd");
}

static const char *make_child(void) {
    child = fork();
    if (child == 0) {
        die_with_parent();
        for (;;) pause();
    }
    descriptor = child < 0 ? -1 : (int)syscall(SYS_pidfd_open, child, 0);
    return descriptor >= 0 ? NULL : failed("pidfd_open");
}

static void drain_late(moment end) { act_at(end, "spooler", drain, NULL); }
static void add_late(moment end) { act_at(end, "notifier", add_event, NULL); }
static void type_late(moment end) { act_at(end, "operator", type_line, NULL); }
static void change_late(moment end) { act_at(end, "editor", change_file, NULL); }
static void end_child_late(moment end) { act_at(end, "supervisor", end_child, NULL); }
static void signal_late(moment end) {
    stalled = pthread_self();
    act_at(end, "signaller", signal_thread, NULL);
}

int write_audit_line(moment end) {
    done += write(ends[1], block, sizeof block);
    return 0;
}

int send_metric(moment end) {
    done += send(ends[1], block, sizeof block, 0);
    return 0;
}

int await_upload(moment end) {
    uint64_t count = 0;
    done += read(descriptor, &count, sizeof count);
    return 0;
}

int await_frame_time(moment end) {
    struct itimerspec time = {.it_value = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)}};
    timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &time, NULL);
    uint64_t count = 0;
    done += read(descriptor, &count, sizeof count);
    return 0;
}

int ask_operator(moment end) {
    char line[16];
    done += read(ends[1], line, sizeof line);
    return 0;
}

int await_reload(moment end) {
    char events[512];
    done += read(descriptor, events, sizeof events);
    return 0;
}

int await_hangup_signal(moment end) {
    struct signalfd_siginfo event;
    done += read(descriptor, &event, sizeof event);
    return 0;
}

int await_child_signal(moment end) {
    sigset_t signals;
    int signal;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    done += sigwait(&signals, &signal);
    return 0;
}

int await_worker_exit(moment end) {
    struct pollfd entry = {.fd = descriptor, .events = POLLIN};
    done += poll(&entry, 1, -1);
    return 0;
}

int reap_worker(moment end) {
    siginfo_t event;
    done += waitid(P_PID, (id_t)child, &event, WEXITED);
    return 0;
}

const struct stall descriptor_stalls[] = {
    {"pipe-full", "syscall", "write_audit_line", NULL, NULL, "write to a full pipe", make_full_pipe, drain_late, write_audit_line, 1},
    {"unix-datagram-full", "syscall", "send_metric", NULL, NULL, "send to a datagram socket whose queue is full",
     make_full_datagram, drain_late, send_metric, 1},
    {"eventfd-read", "syscall", "await_upload", NULL, NULL, "read of an eventfd", make_event, add_late, await_upload, 1},
    {"timerfd-read", "syscall", "await_frame_time", NULL, NULL, "read of a timerfd", make_timer, NULL, await_frame_time, 1},
    {"terminal-read", "syscall", "ask_operator", NULL, NULL, "a line from a terminal", make_terminal, type_late, ask_operator, 1},
    {"inotify-read", "syscall", "await_reload", NULL, NULL, "read of inotify until a file changes", make_watch, change_late,
     await_reload, 1},
    {"signalfd-read", "syscall", "await_hangup_signal", NULL, NULL, "read of a signalfd", make_signals, signal_late,
     await_hangup_signal, 1},
    {"sigwait", "syscall", "await_child_signal", NULL, NULL, "sigwait", make_signals, signal_late, await_child_signal, 1},
    {"pidfd-poll", "syscall", "await_worker_exit", NULL, NULL, "poll on a pidfd", make_child, end_child_late, await_worker_exit, 1},
    {"waitid", "syscall", "reap_worker", NULL, NULL, "waitid for a child that exits late", make_child, end_child_late,
     reap_worker, 1},
    {0},
};
