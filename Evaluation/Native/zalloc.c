//! build: gcc -O2 -static $S -o $O -l:libz.a -l:libpcre2-8.a -l:libexpat.a -lpthread
//! part: kept
//! packages: zlib1g-dev libpcre2-dev libexpat1-dev
//! stall out | fold_crc | take_output|fold_crc|inflate_all|on_out | cpu
//! stall callout | check_date | check_date|match_dates|on_callout | cpu
//! stall entity | external_entity | external_entity|parse_page|on_entity | syscall
#define PCRE2_CODE_UNIT_WIDTH 8
#include "stall.h"
#include <zlib.h>
#include <pcre2.h>
#include <expat.h>
static volatile long acc;
static unsigned char packed[200000], win[32768];
static size_t packedn;
static int slow;
static unsigned next_input(void *u, z_const unsigned char **b) {
    size_t *o = u;
    size_t n = packedn / 18;
    if (*o + n > packedn) n = packedn - *o;
    *b = packed + *o;
    *o += n;
    if (slow) usleep(24000);
    return n;
}
static unsigned fold_crc(const unsigned char *b, unsigned n) {
    unsigned c = ~0u;
    for (int r = 0; r < 8; r++)
        for (unsigned i = 0; i < n; i++) {
            c ^= b[i];
            for (int k = 0; k < 8; k++) c = c >> 1 ^ (0xedb88320 & -(c & 1));
        }
    return c;
}
static int take_output(void *u, unsigned char *b, unsigned n) {
    (void)u;
    if (!slow) acc += fold_crc(b, n);
    return 0;
}
static int inflate_all(void) {
    z_stream s = {0};
    size_t o = 0;
    inflateBackInit(&s, 15, win);
    int r = inflateBack(&s, next_input, &o, take_output, 0);
    inflateBackEnd(&s);
    return r;
}
void on_out(void) { REPEAT(acc += inflate_all()); }
static int check_date(pcre2_callout_block *c, void *u) {
    int d = 0;
    for (int k = 0; k < 2000; k++) d += (c->subject[c->start_match] * k + c->current_position) % 31 > 28;
    *(int *)u += d;
    return d & 1;
}
static int match_dates(const char *s) {
    static pcre2_code *p;
    int er;
    PCRE2_SIZE eo;
    if (!p) p = pcre2_compile((PCRE2_SPTR) "(\\d{4})-(\\d\\d)(?C1)-(\\d\\d)", PCRE2_ZERO_TERMINATED, 0, &er, &eo, 0);
    pcre2_match_context *m = pcre2_match_context_create(0);
    int n = 0;
    pcre2_set_callout(m, check_date, &n);
    pcre2_match_data *d = pcre2_match_data_create(8, 0);
    PCRE2_SIZE o = 0, l = strlen(s);
    while (o < l) {
        int r = pcre2_match(p, (PCRE2_SPTR)s, l, o, 0, d, m);
        if (r < 0) break;
        o = pcre2_get_ovector_pointer(d)[1];
    }
    pcre2_match_data_free(d);
    pcre2_match_context_free(m);
    return n;
}
void on_callout(void) {
    static char t[8000];
    for (int i = 0; i < 300; i++) sprintf(t + i * 20, "on %04d-%02d-%02d it was", 1900 + i, i % 12 + 1, i % 28 + 1);
    REPEAT(acc += match_dates(t));
}
static int external_entity(XML_Parser p, const char *c, const char *b, const char *s, const char *i) {
    (void)c;
    (void)b;
    (void)i;
    (void)p;
    int f = late_pipe(450);
    char x[8];
    int n = read(f, x, 8);
    close(f);
    return n > 0 && s[0];
}
static int parse_page(void) {
    static const char d[] = "<!DOCTYPE a [<!ENTITY x SYSTEM 'x.ent'>]><a>&x;</a>";
    XML_Parser p = XML_ParserCreate(0);
    XML_SetExternalEntityRefHandler(p, external_entity);
    int r = XML_Parse(p, d, sizeof d - 1, 1);
    XML_ParserFree(p);
    return r;
}
void on_entity(void) { acc += parse_page(); }
static const struct way ways[] = {{"out", on_out}, {"callout", on_callout}, {"entity", on_entity}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    static unsigned char raw[150000];
    unsigned s = 7;
    for (unsigned i = 0; i < sizeof raw; i++) {
        s = s * 1103515245 + 12345;
        raw[i] = (s >> 16) & 63;
    }
    z_stream z = {0};
    deflateInit2(&z, 6, 8, -15, 8, 0);
    z.next_in = raw;
    z.avail_in = sizeof raw;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    deflate(&z, Z_FINISH);
    packedn = z.total_out;
    deflateEnd(&z);
    serve_epoll(atoi(v[1]), ways);
}
