// `ForeignProbe places CASE`: threads that wait like pools and loops that were not prepared. Each case turns until a byte or the end of
// stdin reports that it is watched, and one second longer; then it exits.
#define _GNU_SOURCE
#include "probes.h"
#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURN_MS = 10, FIRST_TURNS = 100, STALL_MS = 400 };

static int set, event, ends[2], peers[2];
static sem_t never;

static void sleep_ms(int ms) {
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    nanosleep(&time, NULL);
}

// A wait for the next job, which never comes.
__attribute__((noinline)) static void rest_in_futex(int ms) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += ms / 1000;
    end.tv_nsec += ms % 1000 * 1000000L;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    while (sem_clockwait(&never, CLOCK_MONOTONIC, &end) == 0) continue;
}

// With a plain system call: the preloaded library would count a wrapped call as one of the waits.
static bool is_watched(void) {
    static bool is_known;
    struct pollfd one = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec none = {0};
    if (!is_known) is_known = syscall(SYS_ppoll, &one, 1, &none, NULL, 0) != 0;
    return is_known;
}

// Calls a function that much deeper on the stack.
__attribute__((noinline)) static void deeper(size_t bytes, void (*function)(int), int argument) {
    volatile char *room = alloca(bytes);
    room[0] = 1;
    function(argument);
    room[1] = 1;
}

// Several turns count only from when this process is watched; a single one counts at any time.
static int counted(int turns) { return turns == 1 || is_watched(); }

__attribute__((noinline)) static void turn_epoll(int turns) {
    for (int i = 0; i != turns; i += counted(turns)) {
        struct epoll_event found;
        epoll_wait(set, &found, 1, TURN_MS);
        __asm__ volatile("");
    }
}
__attribute__((noinline)) static void turn_peer(int turns) {
    struct pollfd one = {.fd = peers[0], .events = POLLIN};
    for (int i = 0; i != turns; i += counted(turns)) poll(&one, 1, TURN_MS);
    __asm__ volatile("");
}
__attribute__((noinline)) static void turn_set(int turns) {
    struct pollfd some[2] = {{.fd = event, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    for (int i = 0; i != turns; i += counted(turns)) poll(some, 2, TURN_MS);
    __asm__ volatile("");
}

__attribute__((noinline)) static void turn_one(int turns) {
    struct pollfd one = {.fd = event, .events = POLLIN};
    for (int i = 0; i != turns; i += counted(turns)) poll(&one, 1, TURN_MS);
    __asm__ volatile("");
}
// Polls without waiting, and sleeps in between: except for the first time, when a descriptor is ready.
__attribute__((noinline)) static void turn_looks(int turns) {
    static bool has_looked;
    if (!has_looked) eventfd_write(event, 1);
    for (int i = 0; i != turns; i += counted(turns)) {
        fd_set reads;
        FD_ZERO(&reads);
        FD_SET(event, &reads);
        FD_SET(ends[0], &reads);
        struct timeval time = {.tv_sec = has_looked ? 0 : 1};
        eventfd_t value;
        if (select(ends[0] > event ? ends[0] + 1 : event + 1, &reads, NULL, NULL, &time) == 1) eventfd_read(event, &value);
        has_looked = true;
        sleep_ms(TURN_MS);
    }
}
// Round trips of a program's start to a server that answers at once.
__attribute__((noinline)) static void ask(int questions) {
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < questions; i++) {
        char byte = 0;
        if (write(ends[1], &byte, 1) != 1 || poll(&one, 1, -1) != 1 || read(ends[0], &byte, 1) != 1) _exit(4);
    }
}

// One turn, each time at another place of the stack.
static void turn_moving(int turns) {
    size_t place = 0;
    for (int i = 0; i != turns; i += is_watched()) deeper(64 + (place++ % 7) * 160, turn_epoll, 1);
}

// Without a function of the C library.
static void wait_directly(struct epoll_event *found) {
#if defined(__x86_64__)
    register long timeout __asm__("r10") = TURN_MS, mask __asm__("r8") = 0, size __asm__("r9") = 0;
    long result = SYS_epoll_pwait;
    __asm__ volatile("syscall" : "+a"(result) : "D"((long)set), "S"(found), "d"(1L), "r"(timeout), "r"(mask), "r"(size) : "rcx", "r11", "memory");
#else
    register long number __asm__("x8") = SYS_epoll_pwait, instance __asm__("x0") = set, events __asm__("x1") = (long)found, most __asm__("x2") = 1;
    register long timeout __asm__("x3") = TURN_MS, mask __asm__("x4") = 0, size __asm__("x5") = 0;
    __asm__ volatile("svc #0" : "+r"(instance) : "r"(number), "r"(events), "r"(most), "r"(timeout), "r"(mask), "r"(size) : "memory");
#endif
}

// With plain system calls, which bypass the preloaded library.
__attribute__((noinline)) static void turn_unseen(int turns) {
    for (int i = 0; i != turns; i += counted(turns)) {
        struct epoll_event found;
        wait_directly(&found);
    }
}

// Like a worker: jobs in which it polls, and a rest between them.
static void work_as_pool(void (*job)(int)) {
    for (int jobs = 0; jobs < 4; jobs++) {
        deeper(2048, job, jobs == 0 ? FIRST_TURNS : 12);
        rest_in_futex(700);
    }
}

__attribute__((noinline)) void handler_that_waits_for_a_lock(int ms) { rest_in_futex(ms); }
__attribute__((noinline)) void handler_that_naps(int ms) { sleep_ms(ms); }
// With its events on the stack, which take more space than a handler that its caller calls besides it.
__attribute__((noinline)) static void wait_with_room(void) {
    struct epoll_event found[128];
    epoll_wait(set, found, 128, TURN_MS);
    __asm__ volatile("" : : "r"(found) : "memory");
}
// With the events elsewhere, and space for a message.
__attribute__((noinline)) static void wait_with_text(void) {
    static struct epoll_event found;
    char text[8192];
    __asm__ volatile("" : : "r"(text) : "memory");
    epoll_wait(set, &found, 1, TURN_MS);
    __asm__ volatile("" : : "r"(text) : "memory");
}
__attribute__((noinline)) static void loop_with_room(void (*wait)(void)) {
    for (int i = 0; i < FIRST_TURNS; i += is_watched()) wait();
    handler_that_waits_for_a_lock(STALL_MS);
    for (int i = 0; i < 20; i++) wait();
    __asm__ volatile("");
}

// With the function by which its loop waits, and so often that no single wait is long.
__attribute__((noinline)) void handler_that_polls(int ms) {
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    for (int i = 0; i < 10; i++) poll(&one, 1, ms / 10);
}

// In a separate event loop.
__attribute__((noinline)) void handler_that_turns(int ms) {
    struct epoll_event found, interest = {.events = EPOLLIN};
    int own = epoll_create1(EPOLL_CLOEXEC), counter = eventfd(0, EFD_CLOEXEC);
    if (epoll_ctl(own, EPOLL_CTL_ADD, counter, &interest) != 0) _exit(3);
    epoll_wait(own, &found, 1, ms);
    close(counter);
    close(own);
}

// Computes and waits alternately, in a call that does not continue after a stop (signal(7)): returns how often it was interrupted.
__attribute__((noinline)) int handler_that_computes_and_waits(int ms) {
    struct timespec begin, now;
    int cut = 0, other = epoll_create1(EPOLL_CLOEXEC);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (volatile int work = 0; work < 300000; work++) continue;
        struct epoll_event found;
        if (epoll_wait(other, &found, 1, 1) < 0 && errno == EINTR) cut++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
    close(other);
    return cut;
}

__attribute__((noinline)) void handler_that_computes_briefly(int ms) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        for (volatile int work = 0; work < 30000; work++) continue;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < ms);
}

static void watch(int descriptor, uint32_t events) {
    struct epoll_event interest = {.events = events, .data.fd = descriptor};
    if (epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &interest) != 0) _exit(3);
}

static int status_of(pid_t child) {
    int status = 1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    return WEXITSTATUS(status);
}

__attribute__((noinline)) void handler_that_waits_for_a_child(int child) { status_of(child); }

// Like client libraries, for a connection and a wake-up.
__attribute__((noinline)) void handler_that_asks_often(int ms) {
    struct pollfd several[] = {{.fd = peers[0], .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    for (int i = 0; i < ms / 30; i++) poll(several, 2, 30);
}

__attribute__((noinline)) void handler_that_reloads(int ms) {
    epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL);
    epoll_ctl(set, EPOLL_CTL_DEL, peers[0], NULL);
    sleep_ms(ms);
    watch(ends[0], EPOLLIN);
    watch(peers[0], EPOLLIN);
}

// Turns of 20 ms: each wait finds an event at once, except those of a busy, healthy loop, which sometimes sleeps for a moment.
static void turn_busily(int turns, bool sleeps) {
    struct epoll_event found;
    watch(event, EPOLLIN);
    eventfd_write(event, 1);
    for (int i = 0; i < turns; i++) {
        if (sleeps && i % 5 == 4) {
            eventfd_t value;
            eventfd_read(event, &value);
            epoll_wait(set, &found, 1, 1);
            eventfd_write(event, 1);
        }
        if (epoll_wait(set, &found, 1, -1) == 1) deeper(512, handler_that_computes_briefly, 20);
    }
    epoll_ctl(set, EPOLL_CTL_DEL, event, NULL);
}

enum { CROWD = 64 };

// One turn with a callback of 6 ms for each of many descriptors.
static void turn_with_crowd(void) {
    struct epoll_event found[CROWD + 1];
    for (int i = 0; i < CROWD; i++) watch(eventfd(1, EFD_CLOEXEC), EPOLLIN | EPOLLET);
    int count = epoll_wait(set, found, CROWD + 1, -1);
    for (int i = 0; i < count; i++) deeper(512, handler_that_computes_briefly, 6);
}

static void *write_soon(void *argument) {
    sleep_ms((int)(intptr_t)argument);
    return (void *)(intptr_t)write(ends[1], "x", 1);
}
// Work arrives in that many milliseconds.
static pthread_t expect_work(int ms) {
    pthread_t thread;
    pthread_create(&thread, NULL, write_soon, (void *)(intptr_t)ms);
    return thread;
}

// Of two threads that share an instance, one waits on it, and the other for its turn.
static pthread_barrier_t both;
static void *share(void *first) {
    for (int round = first != NULL; round < 6; round++) {
        pthread_barrier_wait(&both);
        if (round % 2 == 0) deeper(64, turn_epoll, 60);
        else deeper(4096, rest_in_futex, 600);
    }
    return NULL;
}

// Two threads of one instance at full load: neither ever sleeps in its wait, and one has an event that takes long.
static volatile sig_atomic_t is_over;
static void end_soon(int signal) { is_over = signal != 0; }
static void *fetch_busily(void *argument) {
    while (!is_over) {
        struct epoll_event found;
        if (epoll_wait(set, &found, 1, -1) == 1) deeper(512, handler_that_computes_briefly, 10);
    }
    return argument;
}

// A loop within a handler, which waits for everything that the outer loop waits for, and for something more (a modal dialog).
__attribute__((noinline)) static void run_dialog(int ms) {
    struct pollfd some[3] = {{.fd = peers[0], .events = POLLIN}, {.fd = event, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    for (int i = 0; i < ms / 100; i++) {
        poll(some, 3, 100);
        handler_that_computes_briefly(2);
    }
}

// A text program: its loop waits for its terminal and another descriptor, and a question to its user waits only for the terminal.
static int terminal;
__attribute__((noinline)) static void turn_terminal(int turns) {
    struct pollfd some[2] = {{.fd = terminal, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
    for (int i = 0; i != turns; i += counted(turns)) poll(some, 2, TURN_MS);
    __asm__ volatile("");
}
__attribute__((noinline)) static void ask_user(int ms) {
    struct pollfd one = {.fd = terminal, .events = POLLIN};
    poll(&one, 1, ms);
    __asm__ volatile("");
}

__attribute__((noinline)) static void wait_otherwise(int ms) {
    struct pollfd some[2] = {{.fd = peers[0], .events = POLLIN}, {.fd = event, .events = POLLIN}};
    poll(some, 2, ms);
    __asm__ volatile("");
}

static void poll_one(int ms) {
    struct pollfd one = {.fd = ends[0], .events = POLLIN};
    poll(&one, 1, ms);
}

// A ring of io_uring, with plain system calls. This file handles it: no library is loaded for it.
static struct {
    int descriptor;
    volatile uint32_t *sq_tail, *sq_array, *cq_head;
    uint32_t *sq_mask;
    struct io_uring_sqe *entries;
} ring;

static bool make_ring(void) {
    struct io_uring_params made = {0};
    ring.descriptor = (int)syscall(SYS_io_uring_setup, 4, &made);
    if (ring.descriptor < 0) return false;
    char *queues = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, ring.descriptor, IORING_OFF_SQ_RING);
    char *completions = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.descriptor, IORING_OFF_CQ_RING);
    void *entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring.descriptor, IORING_OFF_SQES);
    if (queues == MAP_FAILED || completions == MAP_FAILED || entries == MAP_FAILED) return false;
    ring.sq_tail = (uint32_t *)(queues + made.sq_off.tail);
    ring.sq_array = (uint32_t *)(queues + made.sq_off.array);
    ring.sq_mask = (uint32_t *)(queues + made.sq_off.ring_mask);
    ring.cq_head = (uint32_t *)(completions + made.cq_off.head);
    ring.entries = entries;
    return true;
}

// An operation that completes at once.
static int submit_nothing(void) {
    uint32_t tail = *ring.sq_tail, index = tail & *ring.sq_mask;
    ring.entries[index] = (struct io_uring_sqe){.opcode = IORING_OP_NOP};
    ring.sq_array[index] = index;
    __atomic_store_n(ring.sq_tail, tail + 1, __ATOMIC_RELEASE);
    return (int)syscall(SYS_io_uring_enter, ring.descriptor, 1, 0, 0, NULL, 0);
}

static int wait_on_ring(void) {
    return (int)syscall(SYS_io_uring_enter, ring.descriptor, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static int take_completion(void) {
    __atomic_store_n(ring.cq_head, *ring.cq_head + 1, __ATOMIC_RELEASE);
    return 1;
}

static void on_alarm(int signal) { (void)signal; }

static void *release(void *semaphore) {
    struct sembuf up = {.sem_op = 1};
    sleep_ms(STALL_MS);
    semop((int)(intptr_t)semaphore, &up, 1);
    return NULL;
}
// A wait that does not resume after a stop: 0, or its error.
static int wait_for_semaphore(void) {
    int semaphore = semget(IPC_PRIVATE, 1, 0600);
    struct sembuf down = {.sem_op = -1};
    pthread_t thread;
    pthread_create(&thread, NULL, release, (void *)(intptr_t)semaphore);
    int result = semop(semaphore, &down, 1) == 0 ? 0 : errno;
    pthread_join(thread, NULL);
    semctl(semaphore, 0, IPC_RMID);
    return result;
}

static void *pass_time(void *unused) {
    sleep_ms(STALL_MS);
    return unused;
}
static int join_thread(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, pass_time, NULL);
    return pthread_join(thread, NULL);
}

static void *drop_page(void *page) {
    sleep_ms(20);
    madvise(page, (size_t)getpagesize(), MADV_DONTNEED);
    return NULL;
}
// For one pipe, with its argument in a page that is absent during the wait.
static int poll_with_absent_page(void) {
    struct pollfd *one = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (one == MAP_FAILED) _exit(3);
    *one = (struct pollfd){.fd = ends[0], .events = POLLIN};
    pthread_t thread;
    pthread_create(&thread, NULL, drop_page, one);
    int result = poll(one, 1, 300);
    pthread_join(thread, NULL);
    munmap(one, (size_t)getpagesize());
    return result;
}

// Like a supervisor: for its input and for what a child writes, which holds the other end.
static int poll_with_childs_pipe(void) {
    int childs[2];
    if (pipe(childs) != 0) _exit(3);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    close(childs[1]);
    struct pollfd some[2] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = childs[0], .events = POLLIN}};
    int result = poll(some, 2, 300);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    // The pipe remains open.
    return result;
}

static int connect_one(int listener) {
    struct sockaddr_un address;
    socklen_t length = sizeof(address);
    return getsockname(listener, (struct sockaddr *)&address, &length) == 0 ? connect_there(&address) : -1;
}

static int accept_one(int listener) { return connect_one(listener) < 0 ? -1 : accept(listener, NULL, NULL); }

// Replaces the pipe by a connection to a display server, which has that name.
static void connect_to_display(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "/tmp/.X11-unix/X-probe-%d", (int)getpid());
    if (bind(server, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(server, 1) != 0) _exit(3);
    ends[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(ends[0], (struct sockaddr *)&address, sizeof(address)) != 0) _exit(3);
    ends[1] = accept(server, NULL, NULL);
}

// More descriptors than lagmond lists instances of, all of them watched.
static void open_many(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    for (int count = 0; count < 1100; count++) watch(eventfd(0, EFD_CLOEXEC), EPOLLIN);
}

// `object KIND`: an instance that watches a descriptor. It executes the command in each line on stdin.
static int be_object(const char *kind) {
    int is_edge = strcmp(kind, "edge") == 0 || strcmp(kind, "signalfd-edge") == 0 || strcmp(kind, "signalfd-edge-listener") == 0;
    if (strcmp(kind, "display") == 0) connect_to_display();
    int descriptor = ends[0];
    if (strncmp(kind, "signalfd", 8) == 0) {
        sigset_t signals;
        sigemptyset(&signals);
        sigaddset(&signals, SIGUSR1);
        sigprocmask(SIG_BLOCK, &signals, NULL);
        int signal_descriptor = signalfd(-1, &signals, SFD_CLOEXEC);
        if (is_edge) watch(signal_descriptor, EPOLLIN);
        else descriptor = signal_descriptor;
    }
    if (strcmp(kind, "ring") == 0) {
        // The alarm ends the wait.
        struct sigaction action = {.sa_handler = on_alarm};
        sigaction(SIGALRM, &action, NULL);
        if (!make_ring()) set = -1;
        printf("%d %d\n", set < 0 ? -1 : ring.descriptor, descriptor);
    } else if (strcmp(kind, "input") == 0) descriptor = STDIN_FILENO;
    else if (strstr(kind, "listener") != NULL) descriptor = listen_with(0);
    if (strcmp(kind, "mounts") == 0) watch(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC), EPOLLPRI);
    if (strcmp(kind, "many") == 0) open_many();
    if (strcmp(kind, "ring") != 0) watch(descriptor, is_edge ? EPOLLIN | EPOLLET : strcmp(kind, "once") == 0 ? EPOLLIN | EPOLLONESHOT : EPOLLIN);
    if (strcmp(kind, "ring") != 0) printf("%d %d\n", set, descriptor);
    fflush(stdout);
    for (char line[16]; fgets(line, sizeof(line), stdin) != NULL;) {
        struct epoll_event found;
        struct pollfd some[2] = {{.fd = event, .events = POLLIN}, {.fd = ends[0], .events = POLLIN}};
        int result = 0;
        if (line[0] == 'w') result = (int)write(ends[1], "x", 1);
        if (line[0] == 'v') result = eventfd_write(event, 1);
        if (line[0] == 's') result = kill(getpid(), SIGUSR1);
        if (line[0] == 't') result = epoll_wait(set, &found, 1, 0);
        if (line[0] == 'e') result = epoll_wait(set, &found, 1, -1);
        if (line[0] == 'c') result = close(set);
        if (line[0] == 'm') result = wait_for_semaphore();
        if (line[0] == 'a') result = accept_one(descriptor) >= 0;
        if (line[0] == 'k') result = connect_one(descriptor) >= 0;
        if (line[0] == 'n') result = submit_nothing();
        if (line[0] == 'h') result = take_completion();
        if (line[0] == 'r') {
            ualarm(300000, 0);
            result = wait_on_ring() < 0;
        }
        // Until work arrives, and back.
        if (line[0] == 'p') result = poll(some, 2, 300);
        if (line[0] == 'o') result = poll(some + 1, 1, 300);
        if (line[0] == 'f') result = poll((struct pollfd[2]){{.fd = STDIN_FILENO, .events = POLLIN}, some[1]}, 2, 300);
        if (line[0] == 'u') result = poll_with_childs_pipe();
        if (line[0] == 'j') result = join_thread();
        if (line[0] == 'g') result = poll_with_absent_page();
        if (line[0] == 'd') deeper(1024, poll_one, 300);
        printf("%d\n", result);
        fflush(stdout);
    }
    return 0;
}

// One connection on the instance, which this process accepted or made; a child, which does nothing, holds the other end.
static void be_connected(bool serves) {
    struct sockaddr_un address;
    int listener = listen_here(&address, 1);
    pid_t child = fork();
    int connection = -1;
    if ((child == 0) == serves) {
        connection = connect_there(&address);
    } else {
        connection = accept(listener, NULL, NULL);
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    close(listener);
    watch(connection, EPOLLIN);
    turn_epoll(FIRST_TURNS);
    deeper(2048, handler_that_naps, STALL_MS);
    turn_epoll(20);
    kill(child, SIGKILL);
}

// A loop that creates an instance for each wait, once it is known sometimes with another number.
static void turn_made_anew(int turns) {
    for (int i = 0; i < turns; i += is_watched()) {
        int other = turns == FIRST_TURNS && i > turns / 2 && i % 3 == 0 ? dup(event) : -1;
        int made = epoll_create1(EPOLL_CLOEXEC);
        struct epoll_event events = {.events = EPOLLIN, .data.fd = event};
        epoll_ctl(made, EPOLL_CTL_ADD, event, &events);
        epoll_wait(made, &events, 1, TURN_MS);
        close(made);
        if (other >= 0) close(other);
    }
}

int run_places(int count, char **arguments) {
    const char *name = count > 1 ? arguments[1] : "";
    // The thread that started this may have blocked signals.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    alarm(60);
    set = epoll_create1(EPOLL_CLOEXEC);
    event = eventfd(0, EFD_CLOEXEC);
    if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, peers) != 0 || sem_init(&never, 0, 0) != 0) return 3;
    if (strcmp(name, "object") == 0 && count > 2) return be_object(arguments[2]);
    watch(ends[0], EPOLLIN);
    if (strcmp(name, "pool-peer") == 0) {
        work_as_pool(turn_peer);
    } else if (strcmp(name, "pool-epoll") == 0) {
        work_as_pool(turn_epoll);
    } else if (strcmp(name, "served") == 0 || strcmp(name, "connected") == 0) {
        be_connected(strcmp(name, "served") == 0);
    } else if (strcmp(name, "pool-shared") == 0) {
        pthread_t thread;
        pthread_barrier_init(&both, NULL, 2);
        turn_epoll(FIRST_TURNS);
        pthread_create(&thread, NULL, share, (void *)1);
        // The other thread is one round ahead.
        for (int round = 0; round < 5; round++) {
            pthread_barrier_wait(&both);
            if (round % 2 == 0) deeper(64, turn_epoll, 60);
            else deeper(4096, rest_in_futex, 600);
        }
        pthread_join(thread, NULL);
    } else if (strcmp(name, "start") == 0) {
        // Round trips deep on the stack, then the loop, further out.
        deeper(2048, turn_peer, 40);
        turn_set(FIRST_TURNS);
        handler_that_naps(STALL_MS);
        turn_set(20);
    } else if (strcmp(name, "serves") == 0 || strcmp(name, "calls") == 0) {
        // A connection accepted at the loop's place, or none.
        int listener = listen_with(1);
        turn_set(FIRST_TURNS);
        if (name[0] == 's' && accept(listener, NULL, NULL) < 0) return 3;
        deeper(2048, handler_that_turns, STALL_MS);
        turn_set(20);
    } else if (strcmp(name, "start-outer") == 0) {
        // A start's waits, then the loop, deeper: it is idle.
        turn_set(FIRST_TURNS);
        deeper(2048, wait_otherwise, 3 * STALL_MS);
        turn_set(20);
    } else if (strcmp(name, "start-instance") == 0 || strcmp(name, "start-instance-rests") == 0) {
        // A start's waits, then a wait on an instance, which is the loop's first, or the last one of all.
        turn_set(60);
        turn_epoll(1);
        if (name[14] == 0) deeper(2048, handler_that_naps, STALL_MS);
        else deeper(2048, rest_in_futex, 3 * STALL_MS);
        if (name[14] == 0) turn_epoll(60);
    } else if (strcmp(name, "over") == 0 || strcmp(name, "over-returns") == 0) {
        // A start's waits, which leave a descriptor ready, then a permanent rest, deeper; or a loop whose handler waits as long.
        turn_set(FIRST_TURNS);
        if (write(ends[1], "x", 1) != 1) return 3;
        deeper(2048, rest_in_futex, 1500);
        if (name[4] == 0) return 0;
        char byte;
        if (read(ends[0], &byte, 1) != 1) return 3;
        turn_set(20);
    } else if (strcmp(name, "looks") == 0) {
        turn_looks(2 * FIRST_TURNS);
        deeper(2048, handler_that_naps, STALL_MS);
        turn_looks(20);
    } else if (strcmp(name, "modal") == 0 || strcmp(name, "modal-stalls") == 0) {
        turn_set(FIRST_TURNS);
        deeper(2048, run_dialog, 3000);
        if (name[5] != 0) deeper(4096, handler_that_naps, 2 * STALL_MS);
        deeper(2048, run_dialog, 1000);
        turn_set(20);
    } else if (strcmp(name, "asks") == 0 || strcmp(name, "asks-pending") == 0) {
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || (terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) return 3;
        turn_terminal(FIRST_TURNS);
        char byte = 0;
        if (name[4] != 0 && write(ends[1], "x", 1) != 1) return 3;
        deeper(2048, ask_user, 3 * STALL_MS);
        if (name[4] != 0 && read(ends[0], &byte, 1) != 1) return 3;
        turn_terminal(20);
    } else if (strcmp(name, "shared-busy") == 0) {
        pthread_t thread;
        turn_epoll(FIRST_TURNS);
        watch(event, EPOLLIN);
        eventfd_write(event, 1);
        pthread_create(&thread, NULL, fetch_busily, NULL);
        turn_epoll(20);
        deeper(2048, handler_that_computes_briefly, 2 * STALL_MS);
        turn_epoll(20);
        is_over = true;
        pthread_join(thread, NULL);
    } else if (strcmp(name, "helper") == 0 || strcmp(name, "helper-pending") == 0) {
        // A process that a server forks for occasional work.
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            turn_epoll(FIRST_TURNS);
            if (name[6] != 0 && write(ends[1], "x", 1) != 1) _exit(3);
            deeper(2048, handler_that_naps, STALL_MS);
            char byte;
            if (name[6] != 0 && read(ends[0], &byte, 1) != 1) _exit(3);
            turn_epoll(20);
            _exit(0);
        }
        return status_of(child);
    } else if (strcmp(name, "reload") == 0) {
        // A server's only worker: it removes all descriptors from its set while it reloads its configuration.
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            watch(peers[0], EPOLLIN);
            turn_epoll(FIRST_TURNS);
            deeper(2048, handler_that_reloads, STALL_MS);
            turn_epoll(20);
            _exit(0);
        }
        return status_of(child);
    } else if (strcmp(name, "ends-with-worker") == 0) {
        // Waits for its worker when it must exit, or on its own; a message that arrived meanwhile waits.
        struct sigaction action = {.sa_handler = end_soon};
        sigaction(SIGTERM, &action, NULL);
        for (int i = 0; i < FIRST_TURNS && !is_over; i += counted(FIRST_TURNS)) turn_epoll(1);
        pid_t child = fork();
        if (child == 0) {
            sleep_ms(STALL_MS);
            _exit(0);
        }
        if (write(ends[1], "x", 1) != 1) return 3;
        deeper(2048, handler_that_waits_for_a_child, child);
        char byte;
        if (read(ends[0], &byte, 1) != 1) return 3;
        turn_epoll(20);
    } else if (strcmp(name, "clients-library") == 0) {
        turn_one(FIRST_TURNS);
        eventfd_write(event, 1);
        deeper(2048, handler_that_asks_often, 600);
        eventfd_t count;
        eventfd_read(event, &count);
        turn_one(20);
    } else if (strcmp(name, "unseen") == 0) {
        turn_unseen(FIRST_TURNS);
        deeper(2048, handler_that_naps, STALL_MS);
        turn_unseen(20);
    } else if (strcmp(name, "sleeps") == 0) {
        // A script that sleeps between its rounds, with the call that some languages use for it.
        for (int i = 0; i < FIRST_TURNS / 5; i += is_watched()) {
            struct timeval time = {.tv_usec = 100000};
            select(0, NULL, NULL, NULL, &time);
            deeper(512, handler_that_computes_briefly, 250);
        }
    } else if (strcmp(name, "polls") == 0) {
        turn_set(FIRST_TURNS);
        deeper(2048, handler_that_polls, 1000);
        turn_set(20);
    } else if (strcmp(name, "exits") == 0) {
        turn_epoll(FIRST_TURNS);
        handler_that_naps(STALL_MS);
        turn_epoll(20);
        // Like an interpreter that finalises, or a master that waits for its children.
        sleep_ms(2 * STALL_MS);
    } else if (strcmp(name, "ends") == 0) {
        // Like a server that cleans up before it exits.
        struct sigaction action = {.sa_handler = end_soon};
        sigaction(SIGTERM, &action, NULL);
        turn_epoll(FIRST_TURNS);
        printf("hanging %d\n", (int)getpid());
        fflush(stdout);
        while (!is_over) turn_epoll(1);
        deeper(2048, handler_that_naps, STALL_MS);
    } else if (strcmp(name, "turns") == 0) {
        for (int part = 0; part < 2; part++) {
            for (int i = 0; i < FIRST_TURNS; i += is_watched()) {
                fd_set reads;
                FD_ZERO(&reads);
                FD_SET(event, &reads);
                FD_SET(ends[0], &reads);
                struct timeval time = {.tv_usec = TURN_MS * 1000};
                select(ends[0] > event ? ends[0] + 1 : event + 1, &reads, NULL, NULL, &time);
                // A select in CPython waits deeper than the polls of its handlers.
                if (part == 0) deeper(512, turn_peer, 1);
                else turn_peer(1);
                if (part == 0 && i == FIRST_TURNS - 1) deeper(512, handler_that_naps, STALL_MS);
            }
        }
    } else if (strcmp(name, "moving") == 0) {
        turn_moving(FIRST_TURNS);
        deeper(2048, handler_that_naps, STALL_MS);
        turn_moving(20);
    } else if (strcmp(name, "made-anew") == 0) {
        turn_made_anew(FIRST_TURNS);
        deeper(2048, handler_that_waits_for_a_lock, STALL_MS);
        turn_made_anew(20);
    } else if (strcmp(name, "dialogue") == 0) {
        ask(20);
        deeper(2048, turn_one, FIRST_TURNS);
        deeper(4096, handler_that_naps, STALL_MS);
        deeper(2048, turn_one, 20);
    } else if (strcmp(name, "round-trips") == 0) {
        // Like a client of a display server, which asks it often in each turn.
        for (int i = 0; i != FIRST_TURNS; i += counted(FIRST_TURNS)) {
            turn_one(1);
            deeper(2048, ask, 12);
        }
        deeper(4096, handler_that_naps, STALL_MS);
        turn_one(1);
    } else if (strcmp(name, "once-outer") == 0) {
        // Waits that look like a client's within a loop's first turn, but are the loop.
        turn_set(1);
        deeper(2048, turn_one, FIRST_TURNS);
        deeper(4096, handler_that_naps, STALL_MS);
        deeper(2048, turn_one, 20);
    } else if (strcmp(name, "threaded") == 0) {
        // From now on, the C library's poll uses more of the stack.
        turn_set(FIRST_TURNS);
        pthread_t thread = expect_work(STALL_MS / 4);
        deeper(2048, handler_that_naps, STALL_MS);
        pthread_join(thread, NULL);
        char byte;
        if (read(ends[0], &byte, 1) != 1) return 4;
        turn_set(20);
        deeper(2048, handler_that_naps, STALL_MS);
        turn_set(20);
    } else if (strcmp(name, "beside") == 0 || strcmp(name, "beside-text") == 0) {
        void (*wait)(void) = strcmp(name, "beside") == 0 ? wait_with_room : wait_with_text;
        loop_with_room(wait);
        // It has left the loop.
        rest_in_futex(STALL_MS);
        for (int i = 0; i < 20; i++) wait();
    } else if (strcmp(name, "lock") == 0 || strcmp(name, "lock-without-channel") == 0) {
        if (name[4] != 0) {
            watch(event, EPOLLIN);
            epoll_ctl(set, EPOLL_CTL_DEL, ends[0], NULL);
        }
        turn_epoll(FIRST_TURNS);
        deeper(2048, handler_that_waits_for_a_lock, STALL_MS);
        turn_epoll(20);
    } else if (strcmp(name, "pending") == 0) {
        turn_epoll(FIRST_TURNS);
        pthread_t thread = expect_work(STALL_MS / 4);
        deeper(2048, handler_that_naps, 4 * STALL_MS);
        pthread_join(thread, NULL);
        char byte;
        if (read(ends[0], &byte, 1) != 1) return 4;
        turn_epoll(20);
    } else if (strcmp(name, "hang") == 0) {
        turn_epoll(FIRST_TURNS);
        printf("hanging %d\n", (int)getpid());
        fflush(stdout);
        expect_work(0);
        deeper(2048, handler_that_waits_for_a_lock, 60000);
    } else if (strcmp(name, "idle") == 0) {
        // Blocked as long, and nothing arrives.
        turn_epoll(FIRST_TURNS);
        deeper(2048, handler_that_waits_for_a_lock, 4000);
        turn_epoll(20);
    } else if (strcmp(name, "starve") == 0 || strcmp(name, "busy") == 0) {
        turn_epoll(FIRST_TURNS);
        turn_busily(100, strcmp(name, "busy") == 0);
        turn_epoll(20);
    } else if (strcmp(name, "crowd") == 0) {
        turn_epoll(FIRST_TURNS);
        turn_with_crowd();
        turn_epoll(20);
    } else if (strcmp(name, "cut") == 0) {
        int cut = 0, rounds = count > 2 ? atoi(arguments[2]) : 1;
        turn_epoll(FIRST_TURNS);
        for (int round = 0; round < rounds; round++) {
            cut += handler_that_computes_and_waits(round == 0 ? STALL_MS : STALL_MS / 4);
            turn_epoll(2);
        }
        printf("%d of %d\n", cut, rounds);
    } else if (strcmp(name, "burn") == 0 || strcmp(name, "burn-briefly") == 0) {
        turn_epoll(FIRST_TURNS);
        time_t end = time(NULL) + (name[4] != 0 ? 8 : 3600);
        for (volatile uint64_t work = 0; time(NULL) < end; work++) continue;
    } else {
        return 64;
    }
    return 0;
}
