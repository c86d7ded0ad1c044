// `ForeignProbe waits CASE [CALL]`: waits in the given way. It prints a line to report its place, and continues with each line on stdin.
#define _GNU_SOURCE
#include "probes.h"
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
extern int __poll_chk(struct pollfd *, nfds_t, int, size_t);
extern int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static int set = -1;
static const char *call = "epoll_wait";
// Nothing ever arrives.
static int ends[2], others[2];

static pid_t thread_id(void) { return (pid_t)syscall(SYS_gettid); }

static void say(const char *word) {
    printf("%s %d %d\n", word, (int)getpid(), (int)thread_id());
    fflush(stdout);
}

// Blocks in read(2), which is not wrapped.
static void await_line(void) {
    char byte = 0;
    while (byte != '\n') {
        ssize_t got = read(STDIN_FILENO, &byte, 1);
        if (got == 0) _exit(9);
        if (got < 0 && errno != EINTR) _exit(8);
    }
}

// For one or two descriptors.
static __attribute__((noinline)) int wait_for_set(int timeout_ms) {
    struct pollfd some[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = others[0], .events = POLLIN}};
    struct timespec time = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    struct timeval value = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    int most = ends[0] > others[0] ? ends[0] : others[0];
    fd_set reads;
    FD_ZERO(&reads);
    FD_SET(ends[0], &reads);
    FD_SET(others[0], &reads);
    if (strcmp(call, "one poll") == 0) return poll(some, 1, timeout_ms);
    if (strcmp(call, "set poll") == 0) return poll(some, 2, timeout_ms);
    if (strcmp(call, "set ppoll") == 0) return ppoll(some, 2, &time, NULL);
    if (strcmp(call, "set select") == 0) return select(most + 1, &reads, NULL, NULL, &value);
    if (strcmp(call, "set pselect") == 0) return pselect(most + 1, &reads, NULL, NULL, &time, NULL);
    _exit(7);
}

static __attribute__((noinline)) int wait_once(int timeout_ms) {
    struct epoll_event event;
    struct pollfd none = {.fd = -1};
    struct timespec time = {.tv_sec = timeout_ms / 1000, .tv_nsec = timeout_ms % 1000 * 1000000L};
    struct timeval value = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    if (strcmp(call, "epoll_wait") == 0) return epoll_wait(set, &event, 1, timeout_ms);
    if (strcmp(call, "epoll_pwait") == 0) return epoll_pwait(set, &event, 1, timeout_ms, NULL);
    if (strcmp(call, "epoll_pwait2") == 0) return epoll_pwait2(set, &event, 1, &time, NULL);
    if (strcmp(call, "poll") == 0) return poll(&none, 0, timeout_ms);
    if (strcmp(call, "__poll_chk") == 0) return __poll_chk(&none, 0, timeout_ms, sizeof(none));
    if (strcmp(call, "ppoll") == 0) return ppoll(&none, 0, &time, NULL);
    if (strcmp(call, "__ppoll_chk") == 0) return __ppoll_chk(&none, 0, &time, NULL, sizeof(none));
    if (strcmp(call, "select") == 0) return select(0, NULL, NULL, NULL, &value);
    if (strcmp(call, "pselect") == 0) return pselect(0, NULL, NULL, NULL, &time, NULL);
    if (strcmp(call, "epoll_pwait by number") == 0) return (int)syscall(SYS_epoll_pwait, set, &event, 1, timeout_ms, NULL, 8);
    if (strcmp(call, "epoll_pwait2 by number") == 0) return (int)syscall(SYS_epoll_pwait2, set, &event, 1, &time, NULL, 8);
#ifdef SYS_epoll_wait
    if (strcmp(call, "epoll_wait by number") == 0) return (int)syscall(SYS_epoll_wait, set, &event, 1, timeout_ms);
    if (strcmp(call, "poll by number") == 0) return (int)syscall(SYS_poll, &none, 0, timeout_ms);
#endif
    return wait_for_set(timeout_ms);
}

static __attribute__((noinline)) void loop(int times, int timeout_ms) {
    for (int i = 0; i < times; i++) wait_once(timeout_ms);
    __asm__ volatile("");
}

// The same, deeper on the stack: as a handler would wait.
static __attribute__((noinline)) void deeper_loop(int times, int timeout_ms) {
    volatile char *room = alloca(1024);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    loop(times, timeout_ms);
    room[1] = 1;
}

// One wait, that much deeper on the stack.
static __attribute__((noinline)) void wait_deeper(size_t bytes) {
    volatile char *room = alloca(bytes);
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    loop(1, 1);
    room[1] = 1;
}

// A handler's wait until the next line arrives.
static __attribute__((noinline)) void poll_for_line(void) {
    volatile char *room = alloca(4096);
    // All of it is used, whatever the compiler concludes.
    __asm__ volatile("" : : "r"(room) : "memory");
    room[0] = 1;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    poll(&input, 1, -1);
    await_line();
    room[1] = 1;
}

// A loop on one and then two descriptors, whose handler's wait is in the same function.
static __attribute__((noinline)) void wait_inlined(void) {
    struct pollfd some[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = others[0], .events = POLLIN}};
    for (int turn = 0; turn < 26; turn++) {
        poll(some, turn < 12 || turn == 25 ? 1 : 2, 2);
        if (turn != 24) continue;
        say("looped");
        await_line();
        poll(some, 1, 2);
        say("polled");
        await_line();
    }
    say("looped");
    await_line();
}

static void *loop_thread(void *argument) {
    loop(12, 1);
    say("looped");
    if (argument != NULL) pthread_barrier_wait(argument);
    return NULL;
}

static void *seven_thread(void *argument) {
    loop(7, 1);
    say("looped");
    await_line();
    loop(1, 1);
    say("looped");
    await_line();
    return argument;
}

// That many waits, half a second and more after the first.
static void *few_thread(void *waits) {
    loop(1, 1);
    usleep(600000);
    loop((int)(intptr_t)waits - 1, 1);
    say("looped");
    await_line();
    return NULL;
}

static void *crowd_thread(void *barrier) {
    loop(1, 1);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    usleep(600000);
    loop(1, 1);
    return NULL;
}

static void run_thread(void *(*body)(void *), void *argument) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, argument);
    pthread_join(thread, NULL);
}

static pthread_key_t late_key;
static void late_destructor(void *value) {
    // Two rounds: in the second, all other destructors have run.
    intptr_t round = (intptr_t)value;
    if (round < 3) pthread_setspecific(late_key, (void *)(round + 1));
    deeper_loop(12, 1);
}
static void *late_thread(void *argument) {
    (void)argument;
    pthread_key_create(&late_key, late_destructor);
    pthread_setspecific(late_key, (void *)1);
    loop(12, 1);
    say("looped");
    await_line();
    return NULL;
}

static void *endless_thread(void *argument) {
    (void)argument;
    for (int i = 0;; i++) {
        if (i == 12) say("looped");
        wait_once(i < 12 ? 1 : -1);
    }
    return NULL;
}

static void *forgetful_thread(void *argument) {
    loop(12, 1);
    return argument;
}

static void check(int holds, const char *what) {
    if (holds) return;
    printf("failed: %s (errno %d)\n", what, errno);
    fflush(stdout);
    _exit(1);
}

// A thread that rests in accept, and waits for each job's answers: that many times, for 600 ms or more, on an instance of the job's own.
static void serve_jobs(int waits, int timeout_ms) {
    struct sockaddr_un address;
    int listener = listen_here(&address, 8);
    for (int job = 0; job < 2; job++) {
        close(accept_after(listener, &address, 200));
        close(set);
        set = epoll_create1(EPOLL_CLOEXEC);
        loop(1, 1);
        usleep(600000);
        loop(waits - 1, timeout_ms);
        say("served");
        await_line();
    }
}

// A server of several processes that all poll one socket: in every second accept, another one was faster.
static __attribute__((noinline)) void serve_together(void) {
    struct sockaddr_un address;
    int listener = listen_here(&address, 8);
    close(accept_after(listener, &address, 150));
    struct pollfd some[2] = {{.fd = listener, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    for (int turn = 0; turn < 12; turn++) {
        int client = connect_there(&address);
        poll(some, 2, 1000);
        close(accept(listener, NULL, NULL));
        close(client);
        if (turn % 2 == 0) close(accept_after(listener, &address, 150));
    }
}

// A client that is there already.
static void accept_now(int listener, const struct sockaddr_un *address) {
    int client = connect_there(address), connection = accept(listener, NULL, NULL);
    check(connection >= 0, "accepted");
    close(connection);
    close(client);
}

// What looks like a loop's start.
static void wait_for_answers(void) {
    loop(1, 1);
    usleep(600000);
    loop(2, 1);
}

static void check_no_client(int listener) {
    fcntl(listener, F_SETFL, O_NONBLOCK);
    check(accept(listener, NULL, NULL) < 0 && errno == EAGAIN, "no client");
    fcntl(listener, F_SETFL, 0);
}

// Its jobs look like a loop after it has rested twice.
static void work_under_full_load(int listener, const struct sockaddr_un *address) {
    for (int client = 0; client < 2; client++) close(accept_after(listener, address, 200));
    for (int client = 0; client < 100; client++) accept_now(listener, address);
    wait_for_answers();
}

static int rest_in_accept(const char *how) {
    struct sockaddr_un address;
    int listener = listen_here(&address, 64);
    const char *first = call;
    if (strcmp(how, "nowhere") == 0) {
        loop(12, 1);
        say("looped");
        await_line();
        check(accept(-1, NULL, NULL) < 0 && errno == EBADF, "no such socket");
    } else if (strcmp(how, "first-client") == 0) {
        // On an instance that is older, or after a while; then clients of the loop.
        close(accept_after(listener, &address, 200));
        loop(12, 1);
        if (strcmp(call, "epoll_wait") != 0) {
            usleep(5200000);
            wait_for_answers();
        }
        say("looped");
        await_line();
        accept_now(listener, &address);
        check_no_client(listener);
        say("accepted");
        await_line();
        close(accept_after(listener, &address, 200));
    } else if (strcmp(how, "first-job") == 0) {
        // A process that was started for a client that waited already.
        accept_now(listener, &address);
        close(set);
        set = epoll_create1(EPOLL_CLOEXEC);
        wait_for_answers();
        say("looped");
        await_line();
        close(accept_after(listener, &address, 200));
        wait_for_answers();
    } else if (strcmp(how, "candidate") == 0) {
        // Before it is known to be a loop, and afterwards.
        loop(1, 1);
        close(accept_after(listener, &address, 200));
        usleep(400000);
        loop(2, 1);
        say("looped");
        await_line();
        close(accept_after(listener, &address, 200));
        close(accept_after(listener, &address, 200));
    } else if (strcmp(how, "undecided") == 0) {
        deeper_loop(12, 1);
        call = "epoll_wait";
        loop(1, 1);
        call = first;
        close(accept_after(listener, &address, 200));
        close(accept_after(listener, &address, 200));
        deeper_loop(1, 1);
        say("looped");
        await_line();
    } else if (strcmp(how, "two-clients") == 0) {
        // After them, the socket does not block.
        close(accept_after(listener, &address, 200));
        close(accept_after(listener, &address, 200));
        check_no_client(listener);
        close(set);
        set = epoll_create1(EPOLL_CLOEXEC);
        loop(12, 1);
        say("looped");
        await_line();
        close(accept_after(listener, &address, 200));
    } else if (strcmp(how, "no-client") == 0) {
        // What looked like a job's loop.
        work_under_full_load(listener, &address);
        check_no_client(listener);
        say("looped");
        await_line();
        close(accept_after(listener, &address, 200));
    } else if (strcmp(how, "full-load") == 0) {
        work_under_full_load(listener, &address);
        say("looped");
        await_line();
        accept_now(listener, &address);
        say("accepted");
        await_line();
        close(accept_after(listener, &address, 200));
        wait_for_answers();
    } else {
        return 64;
    }
    say("accepted");
    await_line();
    return 0;
}

static void on_alarm(int signal) { (void)signal; }

static volatile int forked_in_handler = -1;
static void fork_in_handler(int signal) {
    (void)signal;
    forked_in_handler = fork() == 0;
}

// More consecutive waits than a loop's other work contains.
static void poll_in_handler(int signal) {
    (void)signal;
    for (int i = 0; i < 12; i++) poll(NULL, 0, 1);
}

// errno and results, on every path of a wait: before it counts as a loop, when it starts to, afterwards, and at another place.
static void check_results(void) {
    struct epoll_event event;
    for (int i = 0; i < 20; i++) {
        errno = 77;
        check(epoll_wait(set, &event, 1, 1) == 0 && errno == 77, "a wait leaves errno alone");
        errno = 0;
        check(epoll_wait(-1, &event, 1, 1) == -1 && errno == EBADF, "no such set");
        check(epoll_wait(set, &event, 0, 1) == -1 && errno == EINVAL, "no room");
    }
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 12; i++) {
        struct itimerval soon = {.it_value = {.tv_usec = 5000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        errno = 0;
        check(epoll_wait(set, &event, 1, 10000) == -1 && errno == EINTR, "interrupted");
    }
    int pipes[2];
    check(pipe(pipes) == 0 && write(pipes[1], "x", 1) == 1, "pipe");
    struct epoll_event interest = {.events = EPOLLIN, .data = {.u64 = 0x1122334455667788}};
    epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &interest);
    check(epoll_wait(set, &event, 1, -1) == 1 && event.data.u64 == interest.data.u64, "the event arrives");
}

// Before any library's constructor.
static void wait_early(int count, char **arguments, char **environment) {
    (void)environment;
    if (count > 2 && strcmp(arguments[1], "waits") == 0 && strcmp(arguments[2], "early") == 0) {
        for (int i = 0; i < 20; i++) poll(NULL, 0, 1);
    }
}
__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **, char **) = wait_early;

int run_waits(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    if (count > 2) call = arguments[2];
    set = epoll_create1(EPOLL_CLOEXEC);
    if (pipe2(ends, O_CLOEXEC) != 0 || pipe2(others, O_CLOEXEC) != 0) return 3;
    // The program that started this may block it.
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_UNBLOCK, &alarms, NULL);
    if (strcmp(name, "seven") == 0) {
        seven_thread(NULL);
    } else if (strcmp(name, "seven-thread") == 0) {
        run_thread(seven_thread, NULL);
    } else if (strcmp(name, "few") == 0 && count > 3) {
        few_thread((void *)(intptr_t)atoi(arguments[3]));
    } else if (strcmp(name, "few-thread") == 0 && count > 3) {
        run_thread(few_thread, (void *)(intptr_t)atoi(arguments[3]));
    } else if (strcmp(name, "crowd") == 0) {
        enum { CROWD = 20 };
        pthread_t threads[CROWD];
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, CROWD + 1);
        for (int i = 0; i < CROWD; i++) pthread_create(&threads[i], NULL, crowd_thread, &barrier);
        pthread_barrier_wait(&barrier);
        say("looped");
        await_line();
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < CROWD; i++) pthread_join(threads[i], NULL);
        // A separate process with its own threads.
        pid_t child = fork();
        if (child == 0) {
            run_thread(seven_thread, NULL);
            _exit(0);
        }
        waitpid(child, NULL, 0);
    } else if (strcmp(name, "renewed") == 0) {
        loop(3, 1);
        close(set);
        check(epoll_create1(EPOLL_CLOEXEC) == set, "the same number");
        seven_thread(NULL);
    } else if (strcmp(name, "waits-in-handler") == 0) {
        // During the first wait.
        struct sigaction action = {.sa_handler = poll_in_handler};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval soon = {.it_value = {.tv_usec = 20000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        loop(1, 1000);
        say("looped");
        await_line();
    } else if (strcmp(name, "starts") == 0) {
        // A start's waits for answers, each further out; then the loop's first wait.
        call = "one poll";
        for (size_t places = 6; places > 0; places--) wait_deeper(places * 1024);
        call = "set poll";
        loop(1, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "inlined") == 0) {
        wait_inlined();
    } else if (strcmp(name, "loop") == 0 || strcmp(name, "early") == 0) {
        loop(12, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "quits") == 0) {
        loop(12, 1);
        // A child that shares its parent's memory (vfork(2)) and can run no other program.
        pid_t child = vfork();
        if (child == 0) _exit(0);
        waitpid(child, NULL, 0);
        say("looped");
        await_line();
        if (strcmp(arguments[3], "_exit") == 0) _exit(0);
        if (strcmp(arguments[3], "_Exit") == 0) _Exit(0);
        quick_exit(0);
    } else if (strcmp(name, "wanders") == 0) {
        // On one instance, the last time far out.
        loop(8, 1);
        wait_deeper(4096);
        say("looped");
        await_line();
        loop(1, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "title") == 0) {
        // Like setproctitle, which needs the space.
        for (char **entry = environ; *entry != NULL; entry++) memset(*entry, 0, strlen(*entry));
        say("written");
        await_line();
    } else if (strcmp(name, "accepts") == 0) {
        int listener = listen_with(3);
        loop(12, 1);
        say("looped");
        for (int i = 0; i < 3; i++) {
            await_line();
            check((i == 1 ? accept4(listener, NULL, NULL, SOCK_CLOEXEC) : accept(listener, NULL, NULL)) >= 0, "accepted");
            say("accepted");
        }
        await_line();
    } else if (strcmp(name, "serves") == 0 && count > 4) {
        // Each connection has its own instance, the last one with that many waits: either nested as calls are, or in functions with small
        // frames within a loop with a large frame.
        enum { TURNS = 12 };
        bool is_outer = strcmp(arguments[4], "outer") == 0;
        void (*serving)(int, int) = is_outer ? deeper_loop : loop, (*handling)(int, int) = is_outer ? loop : deeper_loop;
        int listener = listen_with(TURNS);
        for (int i = 0; i < TURNS; i++) {
            call = arguments[2];
            serving(1, 1);
            check(accept(listener, NULL, NULL) >= 0, "accepted");
            call = "epoll_wait";
            set = epoll_create1(EPOLL_CLOEXEC);
            if (i == TURNS - 1) handling(atoi(arguments[3]), 100);
            else handling(3, 1);
            close(set);
        }
        say("served");
        await_line();
        call = arguments[2];
        serving(1, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "accepts-elsewhere") == 0) {
        // The connection does not come from the loop's wait.
        int listener = listen_with(1);
        loop(12, 1);
        deeper_loop(1, 1);
        check(accept(listener, NULL, NULL) >= 0, "accepted");
        say("accepted");
        await_line();
    } else if (strcmp(name, "jobs") == 0 && count > 4) {
        serve_jobs(atoi(arguments[3]), atoi(arguments[4]));
    } else if (strcmp(name, "rests") == 0 && count > 3) {
        return rest_in_accept(arguments[3]);
    } else if (strcmp(name, "serves-together") == 0) {
        serve_together();
        say("served");
        await_line();
    } else if (strcmp(name, "blocks-in-accept") == 0) {
        // Within a handler of the loop, which continues.
        struct sockaddr_un address;
        int listener = listen_here(&address, 8);
        loop(12, 1);
        accept_after(listener, &address, 200);
        say("accepted");
        await_line();
        loop(2, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "accepts-early") == 0) {
        // A start's round trips do not accept it: the connection was there before the loop's first wait.
        int listener = listen_with(1);
        call = "one poll";
        deeper_loop(2, 1);
        call = "set poll";
        loop(1, 0);
        check(accept(listener, NULL, NULL) >= 0, "accepted");
        loop(12, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "elsewhere") == 0) {
        // Never twice at one place of the stack.
        for (int i = 1; i < 50; i++) {
            volatile char *room = alloca((size_t)64);
            room[0] = 1;
            loop(1, 1);
        }
        say("looped");
        await_line();
    } else if (strcmp(name, "looks") == 0) {
        loop(50, 0);
        say("looped");
        await_line();
        loop(12, 1);
        say("looped");
        await_line();
        loop(5, 0);
        say("looped");
        await_line();
    } else if (strcmp(name, "seldom") == 0) {
        loop(1, 1);
        loop(6, 0);
        say("looped");
        await_line();
        loop(1, 0);
        say("looped");
        await_line();
    } else if (strcmp(name, "nested") == 0) {
        loop(12, 1);
        say("nested");
        poll_for_line();
        say("back");
        await_line();
        deeper_loop(12, 1);
        loop(1, 1);
        say("again");
        await_line();
    } else if (strcmp(name, "fork") == 0) {
        loop(12, 1);
        say("parent");
        await_line();
        if (fork() == 0) {
            // From the same places at which its parent's loop waits.
            loop(7, 1);
            say("child");
            await_line();
            loop(12, 1);
            say("child");
            await_line();
            _exit(0);
        }
        int status = 1;
        while (wait(&status) < 0 && errno == EINTR) continue;
        return WEXITSTATUS(status);
    } else if (strcmp(name, "handler") == 0) {
        // fork(2) in a signal handler during a wait: two processes return from it.
        loop(12, 1);
        struct sigaction action = {.sa_handler = fork_in_handler};
        sigaction(SIGALRM, &action, NULL);
        struct itimerval soon = {.it_value = {.tv_usec = 20000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        loop(1, 100);
        check(forked_in_handler >= 0, "forked");
        if (forked_in_handler) {
            loop(7, 1);
            _exit(0);
        }
        int status = 1;
        while (wait(&status) < 0 && errno == EINTR) continue;
        check(status == 0, "the child ended well");
        say("looped");
        await_line();
    } else if (strcmp(name, "threads") == 0) {
        pthread_barrier_t barrier;
        pthread_barrier_init(&barrier, NULL, 3);
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, loop_thread, &barrier);
        await_line();
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    } else if (strcmp(name, "thread-end") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, late_thread, NULL);
        pthread_join(thread, NULL);
        say("joined");
        await_line();
    } else if (strcmp(name, "cancel") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, endless_thread, NULL);
        await_line();
        pthread_cancel(thread);
        void *result = NULL;
        pthread_join(thread, &result);
        check(result == PTHREAD_CANCELED, "cancelled in its wait");
        say("joined");
        await_line();
    } else if (strcmp(name, "many-threads") == 0) {
        // More loops than slots at a time, and more over time than there are slots.
        for (int round = 0; round < 3; round++) {
            pthread_t threads[150];
            for (int i = 0; i < 150; i++) pthread_create(&threads[i], NULL, forgetful_thread, NULL);
            for (int i = 0; i < 150; i++) pthread_join(threads[i], NULL);
        }
        say("joined");
        await_line();
    } else if (strcmp(name, "exec") == 0) {
        loop(12, 1);
        say("looped");
        await_line();
        execl("/proc/self/exe", "ForeignProbe", arguments[0], "thrice", (char *)NULL);
        _exit(6);
    } else if (strcmp(name, "spawn") == 0) {
        loop(12, 1);
        char *helper[] = {"ForeignProbe", arguments[0], "thrice-silent", NULL};
        for (int i = 0; i < 5; i++) {
            pid_t pid = vfork();
            if (pid == 0) {
                execv("/proc/self/exe", helper);
                _exit(6);
            }
            waitpid(pid, NULL, 0);
            check(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, helper, environ) == 0, "spawn");
            waitpid(pid, NULL, 0);
            loop(3, 1);
        }
        say("looped");
        await_line();
    } else if (strcmp(name, "thrice") == 0) {
        loop(3, 1);
        say("thrice");
        await_line();
    } else if (strcmp(name, "thrice-main-ends") == 0) {
        loop(3, 1);
        say("thrice");
        await_line();
        pthread_exit(NULL);
    } else if (strcmp(name, "after-epoll") == 0) {
        // A wait of the start, deep on the stack.
        const char *later = call;
        call = "epoll_wait";
        wait_deeper(128 * 1024);
        call = later;
        say("thrice");
        await_line();
        loop(20, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "turn-about") == 0) {
        int other = epoll_create1(EPOLL_CLOEXEC), first = set;
        for (int i = 0; i < 40; i++) {
            set = i % 2 ? other : first;
            loop(1, 1);
        }
        say("looped");
        await_line();
    } else if (strcmp(name, "thrice-silent") == 0) {
        loop(3, 1);
    } else if (strcmp(name, "closes") == 0) {
        closefrom(3);
        set = epoll_create1(0);
        loop(12, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "other-loop") == 0) {
        // The loop of the start is over; another one, further out on the stack, is the program's.
        int first = count > 4 ? atoi(arguments[4]) : 1;
        deeper_loop(12, count > 5 ? atoi(arguments[5]) : 1);
        say("started");
        await_line();
        if (count > 3) call = arguments[3];
        for (int i = 0; i < first; i++) wait_once(1);
        say("looped");
        await_line();
        for (int i = first; i < 55; i++) wait_once(100);
        say("looped");
        await_line();
    } else if (strcmp(name, "other-instance") == 0 && count > 3) {
        // The instance that it waits on later is older, like that of a program whose start has its own loop, or newer, like a handler's.
        int older = set, newer = epoll_create1(EPOLL_CLOEXEC), is_older = strcmp(arguments[3], "older") == 0;
        set = is_older ? newer : older;
        deeper_loop(12, 1);
        say("started");
        await_line();
        set = is_older ? older : newer;
        wait_once(1);
        say("looped");
        await_line();
    } else if (strcmp(name, "returns") == 0) {
        // A young loop on poll whose handler waits on an instance, once or so many times.
        deeper_loop(12, 1);
        say("started");
        await_line();
        const char *outer = call;
        call = "epoll_wait";
        loop(count > 3 ? atoi(arguments[3]) : 1, count > 4 ? atoi(arguments[4]) : 1);
        call = outer;
        deeper_loop(1, count > 5 ? atoi(arguments[5]) : 1);
        say("looped");
        await_line();
        deeper_loop(2, 1);
        say("looped");
        await_line();
    } else if (strcmp(name, "alternates") == 0 && count > 3) {
        // Waits by poll and on an instance in turns, for 12 s. The place that waits by poll is deeper in the stack, or further out.
        bool is_outer = strcmp(arguments[3], "outer") == 0;
        void (*polling)(int, int) = is_outer ? loop : deeper_loop, (*turning)(int, int) = is_outer ? deeper_loop : loop;
        const char *start = call;
        polling(12, 1);
        say("started");
        await_line();
        call = "epoll_wait";
        turning(8, 1);
        for (int i = 0; i <= 12; i++) {
            call = start;
            polling(1, i < 12 ? 500 : 1);
            call = "epoll_wait";
            turning(1, i < 12 ? 500 : 1);
            if (i < 11) continue;
            say("looped");
            await_line();
        }
    } else if (strcmp(name, "inner-loop") == 0) {
        // A loop within a handler for 5.5 s, and back.
        for (int part = 0; part < 2; part++) {
            for (int i = 0; i < 12; i++) wait_once(1);
            if (part == 1) break;
            say("started");
            await_line();
            deeper_loop(55, 100);
            say("inner");
            await_line();
        }
        say("outer");
        await_line();
    } else if (strcmp(name, "results") == 0) {
        check_results();
        say("looped");
        await_line();
    } else {
        return 64;
    }
    return 0;
}
