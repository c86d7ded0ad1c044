// The same for programs in Rust and Fortran.
#include "stall.h"

uint64_t nat_now(void) { return now_ns(); }
uint64_t nat_cpu(void) { return nat_clock(CLOCK_THREAD_CPUTIME_ID); }
void nat_done(const char *name, uint64_t start, uint64_t cpu) { nat_emit(name, start, cpu); }
void nat_hold(int ms) { usleep(ms * 1000); }

// Waits for a line of any client; it is answered before the next one is returned.
void nat_next(int port, char *line, int size) {
    static int set = -1, listener, client = -1;
    struct epoll_event event = {.events = EPOLLIN};
    if (set < 0) {
        listener = event.data.fd = listen_tcp(port);
        set = epoll_create1(EPOLL_CLOEXEC);
        epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
    }
    if (client >= 0) say_ok(client);
    for (;;) {
        while (epoll_wait(set, &event, 1, -1) < 1) {}
        client = event.data.fd;
        if (client == listener) {
            event.data.fd = accept4(listener, 0, 0, SOCK_CLOEXEC);
            epoll_ctl(set, EPOLL_CTL_ADD, event.data.fd, &event);
        } else if (get_line(client, line, size) >= 0) {
            return;
        } else {
            close(client);
        }
    }
}
