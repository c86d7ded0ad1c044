// The C library's own functions, which ours wrap.
#pragma once

#pragma GCC visibility push(hidden)

// Those of the C library are resolved at the start; liburing's when they are called, because then it is loaded.
#define REAL_LIBC(use) \
    use(epoll_wait) use(epoll_pwait) use(epoll_pwait2) use(poll) use(ppoll) use(__poll_chk) use(__ppoll_chk) use(select) use(pselect) \
    use(epoll_create) use(epoll_create1) use(accept) use(accept4) use(_exit) use(_Exit) use(quick_exit)
#define REAL_LIBURING(use) \
    use(io_uring_submit) use(io_uring_submit_and_get_events) use(io_uring_enter) use(io_uring_enter2) use(io_uring_submit_and_wait) use(io_uring_submit_and_wait_timeout) \
    use(io_uring_wait_cqes) use(io_uring_wait_cqe_timeout) use(__io_uring_get_cqe)

#define REAL_NUMBER(name) REAL_##name,
enum { REAL_LIBC(REAL_NUMBER) REAL_LIBC_COUNT, REAL_LIBURING_BEGIN = REAL_LIBC_COUNT - 1, REAL_LIBURING(REAL_NUMBER) REAL_COUNT };

void real_resolve_all(void);
// The slow path: a call before the start, after a fork, or the first call of liburing.
void *real_resolve(int number);

#pragma GCC visibility pop
