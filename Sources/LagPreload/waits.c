// The wrapped calls. Each records its caller's place, and passes its arguments on.
//
// No header that declares them is included, because with some options headers define checked variants of the same names.
#include "filters.h"
#include "hot.h"
#include "loop.h"

#include <errno.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>

struct epoll_event;
struct pollfd {
    int fd;
    short events, revents;
};
struct io_uring;
struct io_uring_cqe;
struct __kernel_timespec;

// The stack pointer after the return.
#if defined(__aarch64__)
// The value at the function's start, because the frame record may be anywhere in the frame.
#define CALLERS_STACK (uint64_t)(uintptr_t)__builtin_sponentry()
#else
// The frame record and the return address are between it and the frame address.
#define CALLERS_STACK ((uint64_t)(uintptr_t)__builtin_frame_address(0) + 2 * sizeof(void *))
#endif
#define PLACE (uint64_t)(uintptr_t)__builtin_return_address(0), CALLERS_STACK

// The object of a wait on the epoll instance `set`. For an invalid number, the kernel reports the error.
#define EPOLL (int32_t)((uint32_t)set + 1)

// The rank of a set of `count` descriptors. (The descriptors of a select are in memory that the kernel has not checked yet: assumed to be several.)
#define SET(count) ((count) > 1 ? LOOP_RANK_SEVERAL : (count) == 1 ? LOOP_RANK_ONE : LOOP_RANK_SLEEP)
#define SELECTED(count) ((count) > 0 ? LOOP_RANK_SEVERAL : LOOP_RANK_SLEEP)

// The purpose of a wait, by whether it may last and whether it has descriptors.
#define PURPOSE(may_last, has_any) (!(may_last) ? LOOP_FOR_NOTHING : (has_any) ? LOOP_FOR_EVENTS : LOOP_FOR_TIME)

// Whether a set of descriptors, which the kernel has read, has that one.
static int has_polled(const struct pollfd *descriptors, unsigned long count, int32_t descriptor) {
    for (unsigned long index = 0; index < count; index++) {
        if (descriptors[index].fd == descriptor) return 1;
    }
    return 0;
}

static int has_selected(const fd_set *ready, int count, int32_t descriptor) {
    enum { BITS = 8 * sizeof(unsigned long) };
    if (ready == NULL || descriptor >= count) return 0;
    return (int)(((const unsigned long *)ready)[descriptor / BITS] >> descriptor % BITS & 1);
}

#define POLLED has_polled(descriptors, count, loop_rested_at() - 1)
#define SELECTED_ONE has_selected(reads, count, loop_rested_at() - 1)

// `missing` is the result if the next library does not have the call; `has_listener`: whether the set has the socket at which the thread may rest.
#define WRAP(name, type, parameters, arguments, object, rank, purpose, missing, has_listener) \
    __attribute__((visibility("default"))) type name parameters { \
        type (*function) parameters = (type(*) parameters)real_function(REAL_##name); \
        if (__builtin_expect(function == NULL, 0)) { \
            errno = ENOSYS; \
            return missing; \
        } \
        loop_thread *thread = loop_enter(object, rank, PLACE, purpose); \
        type result = function arguments; \
        loop_leave(thread, result); \
        if (__builtin_expect(loop_rested_at() != 0, 0) && result > 0 && (has_listener)) loop_record_polled(); \
        return result; \
    }

WRAP(epoll_wait, int, (int set, struct epoll_event *events, int count, int timeout), (set, events, count, timeout), EPOLL, LOOP_RANK_EPOLL, PURPOSE(timeout != 0, 1), -1, 0)
WRAP(
    epoll_pwait, int, (int set, struct epoll_event *events, int count, int timeout, const sigset_t *mask),
    (set, events, count, timeout, mask), EPOLL, LOOP_RANK_EPOLL, PURPOSE(timeout != 0, 1), -1, 0
)
// Only the kernel reads these timeouts, and rejects an invalid address: they all count as waits that may last.
WRAP(
    epoll_pwait2, int,
    (int set, struct epoll_event *events, int count, const struct timespec *timeout, const sigset_t *mask),
    (set, events, count, timeout, mask), EPOLL, LOOP_RANK_EPOLL, LOOP_FOR_EVENTS, -1, 0
)
WRAP(poll, int, (struct pollfd *descriptors, unsigned long count, int timeout), (descriptors, count, timeout), LOOP_OTHER_OBJECT, SET(count), PURPOSE(timeout != 0, count > 0), -1, POLLED)
WRAP(
    __poll_chk, int, (struct pollfd *descriptors, unsigned long count, int timeout, size_t size),
    (descriptors, count, timeout, size), LOOP_OTHER_OBJECT, SET(count), PURPOSE(timeout != 0, count > 0), -1, POLLED
)

// The C library itself reads these timeouts.
static inline int lasts(const struct timespec *timeout) {
    return timeout == NULL || timeout->tv_sec != 0 || timeout->tv_nsec != 0;
}

WRAP(
    ppoll, int,
    (struct pollfd *descriptors, unsigned long count, const struct timespec *timeout, const sigset_t *mask),
    (descriptors, count, timeout, mask), LOOP_OTHER_OBJECT, SET(count), PURPOSE(lasts(timeout), count > 0), -1, POLLED
)
WRAP(
    __ppoll_chk, int,
    (struct pollfd *descriptors, unsigned long count, const struct timespec *timeout, const sigset_t *mask, size_t size),
    (descriptors, count, timeout, mask, size), LOOP_OTHER_OBJECT, SET(count), PURPOSE(lasts(timeout), count > 0), -1, POLLED
)
WRAP(
    select, int, (int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *timeout),
    (count, reads, writes, others, timeout), LOOP_OTHER_OBJECT, SELECTED(count),
    PURPOSE(timeout == NULL || timeout->tv_sec != 0 || timeout->tv_usec != 0, count > 0), -1, SELECTED_ONE
)
WRAP(
    pselect, int,
    (int count, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *timeout, const sigset_t *mask),
    (count, reads, writes, others, timeout, mask), LOOP_OTHER_OBJECT, SELECTED(count), PURPOSE(lasts(timeout), count > 0), -1, SELECTED_ONE
)

// The number of an instance is reused after it is closed.
#define WRAP_CREATE(name, parameter) \
    __attribute__((visibility("default"))) int name(int parameter) { \
        int (*function)(int) = (int (*)(int))real_function(REAL_##name); \
        if (__builtin_expect(function == NULL, 0)) { \
            errno = ENOSYS; \
            return -1; \
        } \
        int set = function(parameter); \
        if (set >= 0) loop_begin_object(EPOLL); \
        return set; \
    }

WRAP_CREATE(epoll_create, size)
WRAP_CREATE(epoll_create1, flags)

extern long syscall(long number, ...);

// Calls that end a process without its destructors, as for the children of a forking server.
#define WRAP_EXIT(name) \
    __attribute__((visibility("default"), noreturn)) void name(int status) { \
        void (*function)(int) = (void (*)(int))real_function(REAL_##name); \
        loop_finish(); \
        if (function != NULL) function(status); \
        for (;;) syscall(SYS_exit_group, status); \
    }

WRAP_EXIT(_exit)
WRAP_EXIT(_Exit)
WRAP_EXIT(quick_exit)

struct sockaddr;

#define WRAP_ACCEPT(name, parameters, arguments) \
    __attribute__((visibility("default"))) int name parameters { \
        int(*function) parameters = (int(*) parameters)real_function(REAL_##name); \
        if (__builtin_expect(function == NULL, 0)) { \
            errno = ENOSYS; \
            return -1; \
        } \
        uint64_t begun_ns = loop_begin_accept(socket); \
        int connection = function arguments; \
        loop_end_accept(socket, begun_ns, connection); \
        return connection; \
    }

WRAP_ACCEPT(accept, (int socket, struct sockaddr *address, uint32_t *length), (socket, address, length))
WRAP_ACCEPT(accept4, (int socket, struct sockaddr *address, uint32_t *length, int flags), (socket, address, length, flags))

// liburing, if a program uses the shared library. Its calls return negative errors, and submit without waiting if there is nothing to wait
// for. Their result is not a number of events.
#define WRAP_RING(name, parameters, arguments, waits, missing) \
    __attribute__((visibility("default"))) int name parameters { \
        int(*function) parameters = (int(*) parameters)real_function(REAL_##name); \
        if (__builtin_expect(function == NULL, 0)) { \
            errno = ENOSYS; \
            return missing; \
        } \
        loop_thread *thread = (waits) ? loop_enter(LOOP_OTHER_OBJECT, LOOP_RANK_SEVERAL, PLACE, LOOP_FOR_TIME) : NULL; \
        int result = function arguments; \
        loop_leave(thread, 0); \
        return result; \
    }

// At full load a program takes completions without a call, and only calls its ring to submit the next requests.
#define WRAP_SUBMIT(name) \
    __attribute__((visibility("default"))) int name(struct io_uring *ring) { \
        int (*function)(struct io_uring *) = (int (*)(struct io_uring *))real_function(REAL_##name); \
        if (__builtin_expect(function == NULL, 0)) { \
            errno = ENOSYS; \
            return -ENOSYS; \
        } \
        int submitted = function(ring); \
        if (submitted > 0) loop_accept(0); \
        return submitted; \
    }

WRAP_SUBMIT(io_uring_submit)
WRAP_SUBMIT(io_uring_submit_and_get_events)

enum { RING_ENTER_GETEVENTS = 1 };

WRAP_RING(
    io_uring_enter, (unsigned ring, unsigned submit, unsigned wait, unsigned flags, sigset_t *mask),
    (ring, submit, wait, flags, mask), wait != 0 && (flags & RING_ENTER_GETEVENTS) != 0, -ENOSYS
)
WRAP_RING(
    io_uring_enter2, (unsigned ring, unsigned submit, unsigned wait, unsigned flags, sigset_t *mask, size_t size),
    (ring, submit, wait, flags, mask, size), wait != 0 && (flags & RING_ENTER_GETEVENTS) != 0, -ENOSYS
)
WRAP_RING(io_uring_submit_and_wait, (struct io_uring *ring, unsigned wait), (ring, wait), wait != 0, -ENOSYS)
WRAP_RING(
    io_uring_submit_and_wait_timeout,
    (struct io_uring *ring, struct io_uring_cqe **cqe, unsigned wait, struct __kernel_timespec *timeout, sigset_t *mask),
    (ring, cqe, wait, timeout, mask), wait != 0, -ENOSYS
)
WRAP_RING(
    io_uring_wait_cqes,
    (struct io_uring *ring, struct io_uring_cqe **cqe, unsigned wait, struct __kernel_timespec *timeout, sigset_t *mask),
    (ring, cqe, wait, timeout, mask), wait != 0, -ENOSYS
)
WRAP_RING(
    io_uring_wait_cqe_timeout, (struct io_uring *ring, struct io_uring_cqe **cqe, struct __kernel_timespec *timeout),
    (ring, cqe, timeout), 1, -ENOSYS
)
// The targets of the inline functions of liburing.h: io_uring_wait_cqe, io_uring_wait_cqe_nr.
WRAP_RING(
    __io_uring_get_cqe, (struct io_uring *ring, struct io_uring_cqe **cqe, unsigned submit, unsigned wait, sigset_t *mask),
    (ring, cqe, submit, wait, mask), wait != 0, -ENOSYS
)

// MARK: By number

// `syscall` continues here for the numbers of waits, with its caller's registers and stack (filters.c). Not for waits whose timeout is in
// memory that only the kernel may read, as it shows whether the wait may last (ppoll, select).
//
// On x86-64 the seventh argument is no parameter: a compiler may overwrite its own parameters on the stack, but the caller may have other data there.
#if defined(__x86_64__)
#define SEVENTH_PARAMETER
#define SEVENTH(has_it) ((has_it) ? *(const long *)(uintptr_t)CALLERS_STACK : 0)
#else
#define SEVENTH_PARAMETER , long f
#define SEVENTH(has_it) ((void)(has_it), f)
#endif
__attribute__((visibility("hidden"), used)) long waits_handle_syscall(long number, long a, long b, long c, long d, long e SEVENTH_PARAMETER) {
    int set = (int)a;
    int32_t object = LOOP_OTHER_OBJECT;
    int rank = LOOP_RANK_SEVERAL, purpose = LOOP_FOR_EVENTS, is_wait = 1, is_ring = 0;
    int has_seventh = number == SYS_epoll_pwait || number == SYS_epoll_pwait2 || number == SYS_io_uring_enter;
    switch (number) {
#ifdef SYS_epoll_wait
        case SYS_epoll_wait:
#endif
        case SYS_epoll_pwait:
            object = EPOLL;
            rank = LOOP_RANK_EPOLL;
            purpose = PURPOSE((int)d != 0, 1);
            break;
        case SYS_epoll_pwait2:
            object = EPOLL;
            rank = LOOP_RANK_EPOLL;
            break;
#ifdef SYS_poll
        case SYS_poll:
            rank = SET((unsigned long)b);
            purpose = PURPOSE((int)c != 0, b > 0);
            break;
#endif
        case SYS_io_uring_enter:
            purpose = LOOP_FOR_TIME;
            is_ring = 1;
            is_wait = c != 0 && ((unsigned)d & RING_ENTER_GETEVENTS) != 0;
            break;
    }
    loop_thread *thread = is_wait ? loop_enter(object, rank, PLACE, purpose) : NULL;
    long result = filters_real_syscall(number, a, b, c, d, e, SEVENTH(has_seventh));
    if (is_ring && !is_wait && result > 0) loop_accept(0);
    else loop_leave(thread, is_ring ? 0 : (int)result);
    return result;
}
