//! build: gcc -O3 -no-pie -ffunction-sections -Wl,--gc-sections $S -o $O -lpthread
//! part: kept
//! stall qsort | by_path | by_path|sort_paths|on_qsort | cpu
//! stall tree | by_digest | by_digest|index_all|on_tree | cpu
//! stall walk | visit | visit|export_tree|on_walk | syscall
#include "stall.h"
#include <search.h>
static volatile long acc;
static char paths[2000][24], *p[2000];
static void *root;
static int by_path(const void *a, const void *b) {
    const char *x = *(char **)a, *y = *(char **)b;
    int d = 0;
    for (int k = 0; k < 20; k++) {
        d = 0;
        for (int i = 0; x[i] && y[i]; i++) {
            int u = x[i] == '/' ? 1 : x[i] + k, v = y[i] == '/' ? 1 : y[i] + k;
            if (u != v) {
                d = u - v;
                break;
            }
        }
    }
    return d;
}
static void sort_paths(void) {
    for (int i = 0; i < 2000; i++) p[i] = paths[i];
    qsort(p, 2000, sizeof *p, by_path);
}
void on_qsort(void) {
    uint64_t e = in_ms(430);
    while (ms_left(e)) {
        sort_paths();
        acc += p[0][1];
    }
}
static int by_digest(const void *a, const void *b) {
    unsigned h = 1, g = 1;
    for (int k = 0; k < 8; k++) {
        for (const char *s = a; *s; s++) h = h * 31 + *s;
        for (const char *s = b; *s; s++) g = g * 31 + *s;
    }
    return h < g ? -1 : h > g;
}
static int index_all(void) {
    void *r = 0;
    for (int i = 0; i < 500; i++) tsearch(paths[i], &r, by_digest);
    int n = 0;
    while (r) {
        tdelete(*(char **)r, &r, by_digest);
        n++;
    }
    return n;
}
void on_tree(void) { REPEAT(acc += index_all()); }
static void visit(const void *n, VISIT w, int d) {
    if (w == leaf || w == postorder) {
        usleep(9000);
        acc += d + (*(char **)n)[0];
    }
}
static void export_tree(void) { twalk(root, visit); }
void on_walk(void) { export_tree(); }
static const struct way ways[] = {{"qsort", on_qsort}, {"tree", on_tree}, {"walk", on_walk}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    for (unsigned i = 0; i < 2000; i++) {
        snprintf(paths[i], 24, "dir%u/file%u", i * 2654435761u >> 20, i);
        if (i < 48) tsearch(paths[i], &root, (int (*)(const void *, const void *))strcmp);
    }
    serve_epoll(atoi(v[1]), ways);
}
