//! build: gcc -O2 $(pkg-config --cflags libxml-2.0) $S -o $O -lxml2 -lpthread
//! part: kept
//! packages: libxml2-dev
//! stall start | count_tag | count_tag|parse_feed|on_start | cpu
//! stall chars | fold_text | fold_text|collect_text|parse_feed|on_chars | cpu
//! stall lookup | resolve_prefix | resolve_prefix|parse_feed|on_lookup | lock
//! stall walk | xpath_prices | xpath_prices|on_walk | cpu
#include "stall.h"
#include <libxml/parser.h>
#include <libxml/xpath.h>
static volatile long acc;
static char *feed;
static unsigned tags[4096];
static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;
static void count_tag(void *u, const xmlChar *n, const xmlChar **a) {
    (void)u;
    for (int k = 0; k < 300; k++) {
        unsigned h = k;
        for (const xmlChar *p = n; *p; p++) h = h * 33 + *p;
        for (; a && *a; a++) h ^= **a;
        tags[h & 4095]++;
    }
}
static unsigned fold_text(const xmlChar *s, int n) {
    unsigned f = 7;
    for (int r = 0; r < 200; r++)
        for (int i = 0; i < n; i++) f = (f << 5) + f + (s[i] >= 'A' && s[i] <= 'Z' ? s[i] + 32 : s[i]) % 29;
    return f;
}
static void collect_text(void *u, const xmlChar *s, int n) { *(unsigned *)u += fold_text(s, n); }
static void resolve_prefix(void *u, const xmlChar *n) {
    (void)u;
    if (n[0] == 'f') {
        pthread_mutex_lock(&names);
        tags[n[1]]++;
        pthread_mutex_unlock(&names);
    }
}
static int parse_feed(xmlSAXHandler *h) {
    unsigned u = 0;
    xmlSAXUserParseMemory(h, &u, feed, strlen(feed));
    return u;
}
void on_start(void) {
    xmlSAXHandler h = {.startElement = count_tag};
    REPEAT(acc += parse_feed(&h));
}
void on_chars(void) {
    xmlSAXHandler h = {.characters = collect_text};
    REPEAT(acc += parse_feed(&h));
}
void on_lookup(void) {
    xmlSAXHandler h = {.endElement = resolve_prefix};
    hold_elsewhere(&names, 450);
    acc += parse_feed(&h);
}
static double xpath_prices(xmlDocPtr d) {
    xmlXPathContextPtr c = xmlXPathNewContext(d);
    xmlXPathObjectPtr o = xmlXPathEvalExpression((xmlChar *)"sum(//item[position() mod 7 = 3]/price)", c);
    double v = o->floatval;
    xmlXPathFreeObject(o);
    xmlXPathFreeContext(c);
    return v;
}
void on_walk(void) {
    xmlDocPtr d = xmlReadMemory(feed, strlen(feed), "f", 0, 0);
    REPEAT(acc += xpath_prices(d));
    xmlFreeDoc(d);
}
static const struct way ways[] = {{"start", on_start}, {"chars", on_chars}, {"lookup", on_lookup}, {"walk", on_walk}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    feed = malloc(400000);
    char *p = feed;
    p += sprintf(p, "<feed>");
    for (int i = 0; i < 1500; i++) p += sprintf(p, "<item id='%d'><title>Item Number %d of Many</title><price>%d</price></item>", i, i, i * 3);
    sprintf(p, "</feed>");
    serve_epoll(atoi(v[1]), ways);
}
