//! build: clang -O3 -flto -fuse-ld=lld $S -o $O -levent -lpthread
//! part: open
//! packages: libevent-dev clang lld
//! stall timer | expire_sessions | expire_sessions|answer | cpu
//! stall buf | drain_reply | drain_reply|answer|take_line | syscall
//! stall sign | sign_token | sign_token|answer|take_line | lock
#include "stall.h"
#include <event2/event.h>
#include <event2/listener.h>
#include <event2/bufferevent.h>
#include <event2/buffer.h>
static struct event_base *base;
static volatile long acc;
static pthread_mutex_t keys = PTHREAD_MUTEX_INITIALIZER;
static unsigned sess[20000];
static uint64_t ta, tc;
static void expire_sessions(evutil_socket_t f, short w, void *u) {
    (void)f;
    (void)w;
    (void)u;
    ta = now_ns();
    tc = nat_clock(CLOCK_THREAD_CPUTIME_ID);
    uint64_t e = in_ms(430);
    unsigned n = 0;
    do {
        for (int i = 0; i < 20000; i++) {
            sess[i] = sess[i] * 1664525 + 1013904223;
            n += sess[i] >> 31;
        }
    } while (ms_left(e));
    acc += n;
    nat_emit("timer", ta, tc);
}
static void drain_reply(struct evbuffer *b, const struct evbuffer_cb_info *i, void *u) {
    (void)b;
    (void)u;
    if (i->n_added) {
        int f = late_pipe(450);
        char c[8];
        if (read(f, c, 8) < 0) {}
        close(f);
    }
}
__attribute__((noinline)) static void sign_token(void) {
    pthread_mutex_lock(&keys);
    acc++;
    pthread_mutex_unlock(&keys);
}
static void answer(const char *n) {
    uint64_t a = now_ns(), c = nat_clock(CLOCK_THREAD_CPUTIME_ID);
    if (!strcmp(n, "timer")) {
        struct timeval t = {0, 50000};
        event_base_once(base, -1, EV_TIMEOUT, expire_sessions, 0, &t);
        return;
    }
    if (!strcmp(n, "buf")) {
        struct evbuffer *b = evbuffer_new();
        evbuffer_add_cb(b, drain_reply, 0);
        evbuffer_add(b, "x", 1);
        evbuffer_free(b);
    } else if (!strcmp(n, "sign")) {
        hold_elsewhere(&keys, 450);
        sign_token();
    } else return;
    nat_emit(n, a, c);
}
static void take_line(struct bufferevent *b, void *u) {
    (void)u;
    char *l = evbuffer_readln(bufferevent_get_input(b), 0, EVBUFFER_EOL_LF);
    if (!l) return;
    answer(l);
    free(l);
    bufferevent_write(b, "ok\n", 3);
}
static void gone(struct bufferevent *b, short w, void *u) {
    (void)u;
    if (w & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) bufferevent_free(b);
}
static void on_accept(struct evconnlistener *l, evutil_socket_t f, struct sockaddr *s, int n, void *u) {
    (void)l;
    (void)s;
    (void)n;
    (void)u;
    struct bufferevent *b = bufferevent_socket_new(base, f, BEV_OPT_CLOSE_ON_FREE);
    bufferevent_setcb(b, take_line, 0, gone, 0);
    bufferevent_enable(b, EV_READ | EV_WRITE);
}
int main(int c, char **v) {
    (void)c;
    base = event_base_new();
    struct sockaddr_in s = {.sin_family = AF_INET, .sin_port = htons(atoi(v[1])), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    evconnlistener_new_bind(base, on_accept, 0, LEV_OPT_REUSEABLE | LEV_OPT_CLOSE_ON_EXEC, -1, (struct sockaddr *)&s, sizeof s);
    event_base_dispatch(base);
}
