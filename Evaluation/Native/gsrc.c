//! build: clang -O3 -flto -fuse-ld=lld $(pkg-config --cflags gio-2.0) $S -o $O $(pkg-config --libs gio-2.0) -lpthread && cp $O $O.full && strip $O
//! part: open
//! packages: libglib2.0-dev clang lld
//! stall prep | source_check | source_check | cpu
//! stall sort | by_rank | by_rank|sort_queue|answer|on_line | cpu
//! stall idle | flush_spool | flush_spool | syscall
#include "stall.h"
#include <glib.h>
static volatile long acc;
static volatile int slow_check;
static GMainLoop *lp;
static gboolean prep(GSource *s, gint *t) {
    (void)s;
    *t = -1;
    return slow_check;
}
static gboolean source_check(GSource *s) {
    (void)s;
    if (!slow_check) return 0;
    slow_check = 0;
    uint64_t a = now_ns(), c = nat_clock(CLOCK_THREAD_CPUTIME_ID), e = in_ms(430);
    unsigned h = 1;
    while (ms_left(e))
        for (int i = 0; i < 5000; i++) h = h * 69069 + (h >> 11);
    acc += h;
    nat_emit("prep", a, c);
    return 0;
}
static gboolean fire(GSource *s, GSourceFunc f, gpointer u) {
    (void)s;
    (void)f;
    (void)u;
    if (slow_check) source_check(s);
    return TRUE;
}
static GSourceFuncs fn = {.prepare = prep, .check = source_check, .dispatch = fire};
static gint by_rank(gconstpointer a, gconstpointer b, gpointer u) {
    double x = GPOINTER_TO_INT(a), y = GPOINTER_TO_INT(b);
    (void)u;
    for (int k = 1; k < 60; k++) {
        x = x * .9 + k / x;
        y = y * .9 + k / y;
    }
    return x < y ? -1 : x > y;
}
static int sort_queue(void) {
    GQueue *q = g_queue_new();
    for (int i = 1; i < 2000; i++) g_queue_push_tail(q, GINT_TO_POINTER(i * 7919 % 2003 + 1));
    g_queue_sort(q, by_rank, 0);
    int r = GPOINTER_TO_INT(g_queue_peek_head(q));
    g_queue_free(q);
    return r;
}
static gboolean flush_spool(gpointer u) {
    (void)u;
    uint64_t a = now_ns(), c = nat_clock(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 9; i++) usleep(50000);
    nat_emit("idle", a, c);
    return FALSE;
}
__attribute__((noinline)) static void answer(const char *n) {
    uint64_t a = now_ns(), c = nat_clock(CLOCK_THREAD_CPUTIME_ID), e = in_ms(430);
    if (!strcmp(n, "prep")) {
        slow_check = 1;
        return;
    }
    if (!strcmp(n, "idle")) {
        g_idle_add(flush_spool, 0);
        return;
    }
    if (!strcmp(n, "sort"))
        while (ms_left(e)) acc += sort_queue();
    else return;
    nat_emit(n, a, c);
}
static gboolean on_line(GIOChannel *g, GIOCondition w, gpointer u) {
    (void)w;
    (void)u;
    int fd = g_io_channel_unix_get_fd(g);
    char b[100];
    if (get_line(fd, b, 100) < 0) {
        close(fd);
        return FALSE;
    }
    answer(b);
    say_ok(fd);
    return TRUE;
}
static gboolean on_accept(GIOChannel *g, GIOCondition w, gpointer u) {
    (void)w;
    (void)u;
    int fd = accept4(g_io_channel_unix_get_fd(g), 0, 0, SOCK_CLOEXEC);
    g_io_add_watch(g_io_channel_unix_new(fd), G_IO_IN | G_IO_HUP, on_line, 0);
    return TRUE;
}
int main(int c, char **v) {
    (void)c;
    g_source_attach(g_source_new(&fn, sizeof(GSource)), 0);
    g_io_add_watch(g_io_channel_unix_new(listen_tcp(atoi(v[1]))), G_IO_IN, on_accept, 0);
    lp = g_main_loop_new(0, 0);
    g_main_loop_run(lp);
}
