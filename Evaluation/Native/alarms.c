//! build: gcc -O2 -fcf-protection=none $S -o $O
//! part: open
//! stall sig | on_reload|reparse_config | on_reload|reparse_config|on_sig | cpu
//! stall alarm | rotate_keys|on_alarm | rotate_keys|on_alarm|on_timer | cpu
//! stall slow | flush_audit|on_usr | flush_audit|on_usr|on_audit | syscall
//! stall plain | count_words | count_words|on_count | cpu
#include "stall.h"
#include <sys/time.h>
static volatile long acc;
static char text[1 << 16];
__attribute__((noinline)) static long reparse_config(void) {
    long k = 0;
    for (int i = 0; i < (int)sizeof text; i++)
        if (text[i] == '=') k += text[(i * 31) & 65535];
    return k;
}
static void on_reload(int s) { REPEAT(acc += reparse_config() + s); }
static void rotate_keys(void) {
    unsigned x = acc | 1;
    for (int i = 0; i < 200000; i++) x = x * 1664525 + (x >> 9) + i;
    acc += x;
}
static void on_alarm(int s) {
    REPEAT(rotate_keys());
    acc += s;
}
static void flush_audit(int ms) {
    struct timespec t = {0, ms * 1000000L};
    nanosleep(&t, 0);
    acc++;
}
static void on_usr(int s) {
    flush_audit(400);
    acc += s;
}
static void on_sig(void) {
    raise(SIGUSR1);
    acc++;
}
static void on_timer(void) {
    struct itimerval t = {{0, 0}, {0, 3000}};
    long w = acc;
    setitimer(ITIMER_REAL, &t, 0);
    while (acc == w) pause();
}
static void on_audit(void) {
    raise(SIGUSR2);
    acc++;
}
static long count_words(const char *s, int n) {
    long k = 0;
    for (int r = 0; r < 40; r++)
        for (int i = 1; i < n; i++) k += s[i] == ' ' && s[i - 1] != ' ';
    return k;
}
void on_count(void) { REPEAT(acc += count_words(text, sizeof text)); }
static const struct way ways[] = {{"sig", on_sig}, {"alarm", on_timer}, {"slow", on_audit}, {"plain", on_count}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    for (unsigned i = 0; i < sizeof text; i++) text[i] = "key = value ; "[i % 14];
    signal(SIGUSR1, on_reload);
    signal(SIGALRM, on_alarm);
    signal(SIGUSR2, on_usr);
    serve_epoll(atoi(v[1]), ways);
    return acc;
}
