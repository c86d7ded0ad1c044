//! build: g++ -O2 -std=c++17 $(pkg-config --cflags glibmm-2.4 gio-2.0) $S -o $O $(pkg-config --libs glibmm-2.4) -lpthread
//! part: kept
//! packages: libglibmm-2.4-dev
//! stall slot | Inventory::recount | Inventory::recount|answer|on_line | cpu
//! stall fold | fold_entry | fold_stock|fold_entry|answer|on_line | cpu
//! stall mutex | Inventory::reserve | Inventory::reserve|answer|on_line | lock
#include "stall.h"
#include <glibmm.h>
#include <sigc++/sigc++.h>
#include <map>
static volatile long acc;
struct Inventory : sigc::trackable {
    std::map<int, int> m;
    pthread_mutex_t l = PTHREAD_MUTEX_INITIALIZER;
    Inventory() {
        for (int i = 0; i < 4000; i++) m[i * 7919 % 4001] = i;
    }
    void recount(int n);
    void reserve(int n);
};
void Inventory::recount(int n) {
    long s = 0;
    for (int k = 0; k < n; k++)
        for (auto &x : m) s += x.second * k;
    acc = acc + s;
}
void Inventory::reserve(int n) {
    pthread_mutex_lock(&l);
    m[n]--;
    pthread_mutex_unlock(&l);
}
static gboolean fold_entry(gpointer k, gpointer v, gpointer u) {
    unsigned h = GPOINTER_TO_INT(k);
    for (int i = 0; i < 3000; i++) h = h * 1103515245 + GPOINTER_TO_INT(v) + i;
    *(unsigned *)u += h;
    return FALSE;
}
static unsigned fold_stock(GTree *t) {
    unsigned u = 0;
    g_tree_foreach(t, fold_entry, &u);
    return u;
}
static Inventory *inv;
static GTree *tree;
__attribute__((noinline)) static void answer(const char *n) {
    sigc::signal<void, int> s;
    uint64_t e = in_ms(430), a = now_ns(), c = nat_clock(CLOCK_THREAD_CPUTIME_ID);
    if (!strcmp(n, "slot")) {
        s.connect(sigc::mem_fun(*inv, &Inventory::recount));
        while (ms_left(e)) s.emit(20);
    } else if (!strcmp(n, "fold")) {
        while (ms_left(e)) acc = acc + fold_stock(tree);
    } else if (!strcmp(n, "mutex")) {
        hold_elsewhere(&inv->l, 450);
        s.connect(sigc::mem_fun(*inv, &Inventory::reserve));
        s.emit(3);
    } else return;
    nat_emit(n, a, c);
}
static bool on_line(Glib::IOCondition, int fd) {
    char b[100];
    if (get_line(fd, b, 100) < 0) {
        close(fd);
        return false;
    }
    answer(b);
    say_ok(fd);
    return true;
}
static bool on_accept(Glib::IOCondition, int l) {
    int fd = accept4(l, 0, 0, SOCK_CLOEXEC);
    Glib::signal_io().connect(sigc::bind(sigc::ptr_fun(on_line), fd), fd, Glib::IO_IN | Glib::IO_HUP);
    return true;
}
static int cmp(gconstpointer a, gconstpointer b) { return GPOINTER_TO_INT(a) - GPOINTER_TO_INT(b); }
int main(int, char **v) {
    Glib::init();
    inv = new Inventory;
    tree = g_tree_new(cmp);
    for (int i = 1; i < 300; i++) g_tree_insert(tree, GINT_TO_POINTER(i), GINT_TO_POINTER(i * 7));
    int l = listen_tcp(atoi(v[1]));
    Glib::signal_io().connect(sigc::bind(sigc::ptr_fun(on_accept), l), l, Glib::IO_IN);
    Glib::MainLoop::create()->run();
}
