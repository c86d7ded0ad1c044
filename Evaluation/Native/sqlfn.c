//! build: clang -O2 -fuse-ld=lld $S -o $O -lsqlite3 -lpthread
//! part: kept
//! packages: libsqlite3-dev clang lld
//! stall func | sql_soundex | sql_soundex|query|on_func | cpu
//! stall step | insert_sorted | median_step|insert_sorted|query|on_step | cpu
//! stall busy | keep_trying | keep_trying|query|on_busy | syscall
#include "stall.h"
#include <sqlite3.h>
#include <ctype.h>
static sqlite3 *db;
static volatile long acc;
static void sql_soundex(sqlite3_context *c, int n, sqlite3_value **v) {
    (void)n;
    const unsigned char *s = sqlite3_value_text(v[0]);
    unsigned k = 0;
    for (int r = 0; r < 300; r++)
        for (const unsigned char *p = s; *p; p++) k = k * 6 + "01230120022455012623010202"[(toupper(*p) - 'A' + 26) % 26] - '0';
    sqlite3_result_int(c, k);
}
struct med {
    int n;
    int *v;
};
static void insert_sorted(struct med *m, int x) {
    if (!m->v) m->v = malloc(40000 * sizeof(int));
    int i = m->n++;
    while (i && m->v[i - 1] > x) {
        m->v[i] = m->v[i - 1];
        i--;
    }
    m->v[i] = x;
}
static void median_step(sqlite3_context *c, int n, sqlite3_value **v) {
    (void)n;
    insert_sorted(sqlite3_aggregate_context(c, sizeof(struct med)), sqlite3_value_int(v[0]));
}
static void median_final(sqlite3_context *c) {
    struct med *m = sqlite3_aggregate_context(c, sizeof *m);
    sqlite3_result_int(c, m->v ? m->v[m->n / 2] : 0);
    free(m->v);
}
static int keep_trying(void *u, int n) {
    (void)u;
    usleep(30000);
    return n < 14;
}
static int query(sqlite3 *d, const char *q, int (*cb)(void *, int, char **, char **)) {
    int n = 0;
    sqlite3_exec(d, q, cb, &n, 0);
    return n;
}
void on_func(void) { REPEAT(acc += query(db, "select sum(sx(name)) from p where id<200", 0)); }
void on_step(void) { REPEAT(acc += query(db, "select med(-id) from p", 0)); }
void on_busy(void) {
    char f[40];
    snprintf(f, 40, "busy.%d.db", getpid());
    sqlite3 *a, *b;
    sqlite3_open(f, &a);
    sqlite3_open(f, &b);
    query(a, "create table t(x)", 0);
    query(a, "begin exclusive", 0);
    sqlite3_busy_handler(b, keep_trying, 0);
    query(b, "insert into t values(1)", 0);
    query(a, "commit", 0);
    sqlite3_close(a);
    sqlite3_close(b);
    unlink(f);
}
static const struct way ways[] = {{"func", on_func}, {"step", on_step}, {"busy", on_busy}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    sqlite3_open(":memory:", &db);
    sqlite3_create_function(db, "sx", 1, SQLITE_UTF8, 0, sql_soundex, 0, 0);
    sqlite3_create_function(db, "med", 1, SQLITE_UTF8, 0, 0, median_step, median_final);
    query(db,
        "create table p(id integer primary key,name text);with recursive n(i) as (select 0 union all select i+1 from n where i<9999) insert into p "
        "select i,'person'||(i*7919%10007)||'name' from n",
        0);
    serve_epoll(atoi(v[1]), ways);
}
