// A preloaded library that blocks a program when the test requests it, in the functions that the program calls for a connection.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

// Shared with the test (injected.py).
typedef struct {
    uint32_t wanted, ms, any_thread, done, pid, tid;
    int64_t begin_ns, end_ns;
} injected_page;

static injected_page *page;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ll + now.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
    const char *path = getenv("LAG_INJECT");
    char name[4096];
    ssize_t length = readlink("/proc/self/exe", name, sizeof(name) - 1);
    if (path == NULL || length <= 0) return;
    name[length] = 0;
    if (strncmp(strrchr(name, '/') + 1, "lagmond", 7) == 0) return;
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory != MAP_FAILED) page = memory;
}

#define BLOCKING __attribute__((noinline)) void

BLOCKING injected_sleep(int64_t until) {
    struct timespec end = {until / 1000000000, until % 1000000000};
    while (now_ns() < until) clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
}

BLOCKING injected_compute(int64_t until) {
    volatile uint64_t sum = 0;
    while (now_ns() < until) {
        for (int round = 0; round < 100000; round++) sum += sum * 31 + (uint64_t)round;
    }
}

BLOCKING injected_receive(int64_t until) {
    int pair[2];
    char byte;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
    for (int64_t left = until - now_ns(); left > 0; left = until - now_ns()) {
        struct timeval time = {left / 1000000000, left % 1000000000 / 1000 + 1};
        syscall(SYS_setsockopt, pair[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
        syscall(SYS_recvfrom, pair[0], &byte, 1, 0, NULL, NULL);
    }
    syscall(SYS_close, pair[0]);
    syscall(SYS_close, pair[1]);
}

BLOCKING injected_poll(int64_t until) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
    struct pollfd entry = {.fd = pair[0], .events = POLLIN};
    for (int64_t left = until - now_ns(); left > 0; left = until - now_ns()) poll(&entry, 1, (int)(left / 1000000) + 1);
    syscall(SYS_close, pair[0]);
    syscall(SYS_close, pair[1]);
}

BLOCKING injected_condition(int64_t until) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&condition, &attributes);
    struct timespec end = {until / 1000000000, until % 1000000000};
    pthread_mutex_lock(&mutex);
    while (now_ns() < until) pthread_cond_timedwait(&condition, &mutex, &end);
    pthread_mutex_unlock(&mutex);
}

BLOCKING injected_epoll(int64_t until) {
    int pair[2], instance = epoll_create1(EPOLL_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return;
    struct epoll_event event = {.events = EPOLLIN};
    epoll_ctl(instance, EPOLL_CTL_ADD, pair[0], &event);
    for (int64_t left = until - now_ns(); left > 0; left = until - now_ns()) epoll_wait(instance, &event, 1, (int)(left / 1000000) + 1);
    syscall(SYS_close, instance);
    syscall(SYS_close, pair[0]);
    syscall(SYS_close, pair[1]);
}

static void (*const kinds[])(int64_t) = {NULL,          injected_sleep,     injected_compute, injected_receive,
                                         injected_poll, injected_condition, injected_epoll};

__attribute__((noinline)) void injected_stall(uint32_t kind) {
    int64_t begun = now_ns();
    page->pid = (uint32_t)getpid();
    page->tid = (uint32_t)syscall(SYS_gettid);
    page->begin_ns = begun;
    kinds[kind](begun + page->ms * 1000000ll);
    page->end_ns = now_ns();
    __atomic_store_n(&page->done, 1u, __ATOMIC_RELEASE);
}

// Executes a requested stall. Keeps errno, so that the result of the program's call does not change.
static void pass(int descriptor) {
    if (page == NULL) return;
    uint32_t kind = __atomic_load_n(&page->wanted, __ATOMIC_ACQUIRE);
    if (kind == 0 || kind >= sizeof(kinds) / sizeof(kinds[0])) return;
    int saved = errno;
    struct stat file;
    if ((page->any_thread || getpid() == (pid_t)syscall(SYS_gettid)) && fstat(descriptor, &file) == 0 && S_ISSOCK(file.st_mode)
        && __atomic_compare_exchange_n(&page->wanted, &kind, 0u, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        injected_stall(kind);
    errno = saved;
}

#define PASS(type, name, parameters, arguments)             \
    type name parameters {                                  \
        static type(*real) parameters;                      \
        if (real == NULL) real = dlsym(RTLD_NEXT, #name);   \
        type result = real arguments;                       \
        pass(descriptor);                                   \
        return result;                                      \
    }

PASS(ssize_t, read, (int descriptor, void *bytes, size_t count), (descriptor, bytes, count))
PASS(ssize_t, readv, (int descriptor, const struct iovec *pieces, int count), (descriptor, pieces, count))
PASS(ssize_t, recv, (int descriptor, void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
PASS(ssize_t, recvfrom, (int descriptor, void *bytes, size_t count, int flags, struct sockaddr *from, socklen_t *length),
     (descriptor, bytes, count, flags, from, length))
PASS(ssize_t, recvmsg, (int descriptor, struct msghdr *message, int flags), (descriptor, message, flags))
PASS(ssize_t, write, (int descriptor, const void *bytes, size_t count), (descriptor, bytes, count))
PASS(ssize_t, writev, (int descriptor, const struct iovec *pieces, int count), (descriptor, pieces, count))
PASS(ssize_t, send, (int descriptor, const void *bytes, size_t count, int flags), (descriptor, bytes, count, flags))
PASS(ssize_t, sendto, (int descriptor, const void *bytes, size_t count, int flags, const struct sockaddr *to, socklen_t length),
     (descriptor, bytes, count, flags, to, length))
PASS(ssize_t, sendmsg, (int descriptor, const struct msghdr *message, int flags), (descriptor, message, flags))
PASS(int, setsockopt, (int descriptor, int level, int option, const void *value, socklen_t length), (descriptor, level, option, value, length))
PASS(int, getsockname, (int descriptor, struct sockaddr *address, socklen_t *length), (descriptor, address, length))
