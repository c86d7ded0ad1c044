//! build: clang -O3 -fuse-ld=lld -static $S -o $O -l:libjson-c.a -l:libexpat.a -l:libyaml.a
//! part: open
//! packages: libjson-c-dev libexpat1-dev libyaml-dev clang lld
//! stall json | parse_feed | parse_feed|on_json | cpu
//! stall xml | load_atom | load_atom|on_atom | cpu
//! stall yaml | read_rules | read_rules|on_yaml | cpu
//! stall uniq | unique_ids | unique_ids|on_unique|compare_ids | cpu
#include "stall.h"
#include <json-c/json.h>
#include <expat.h>
#include <yaml.h>
static volatile long acc;
static char js[60000], xm[60000], ym[20000];
static int parse_feed(const char *s) {
    json_object *o = json_tokener_parse(s);
    int n = json_object_array_length(o);
    json_object_put(o);
    return n;
}
static void on_json(void) { REPEAT(acc += parse_feed(js)); }
static void start_tag(void *u, const char *n, const char **a) {
    (void)a;
    *(int *)u += n[0];
}
int load_atom(const char *s, int n) {
    int k = 0;
    XML_Parser p = XML_ParserCreate(0);
    XML_SetUserData(p, &k);
    XML_SetStartElementHandler(p, start_tag);
    XML_Parse(p, s, n, 1);
    XML_ParserFree(p);
    return k;
}
static void on_atom(void) {
    int n = strlen(xm);
    REPEAT(acc += load_atom(xm, n));
}
int read_rules(const char *s) {
    yaml_parser_t p;
    yaml_event_t e;
    int n = 0, d = 0;
    yaml_parser_initialize(&p);
    yaml_parser_set_input_string(&p, (const unsigned char *)s, strlen(s));
    while (!d && yaml_parser_parse(&p, &e)) {
        d = e.type == YAML_STREAM_END_EVENT;
        n++;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
    return n;
}
static void on_yaml(void) { REPEAT(acc += read_rules(ym)); }
static int compare_ids(const void *a, const void *b) {
    unsigned x = *(unsigned *)a, y = *(unsigned *)b;
    return x < y ? -1 : x > y;
}
__attribute__((noinline)) static int unique_ids(unsigned *v, int n) {
    qsort(v, n, 4, compare_ids);
    int k = 0;
    for (int i = 1; i < n; i++) k += v[i] != v[i - 1];
    return k;
}
static void on_unique(void) {
    static unsigned v[20000];
    uint64_t e = in_ms(430);
    while (ms_left(e)) {
        for (int i = 0; i < 20000; i++) v[i] = i * 2654435761u >> 12;
        acc += unique_ids(v, 20000);
    }
}
static const struct way ways[] = {{"json", on_json}, {"xml", on_atom}, {"yaml", on_yaml}, {"uniq", on_unique}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    strcpy(js, "[");
    strcpy(xm, "<feed>");
    char b[100];
    for (int i = 0; i < 500; i++) {
        snprintf(b, 100, "%s{\"id\":%d,\"name\":\"item %d\",\"tags\":[1,2,%d]}", i ? "," : "", i, i * 7, i);
        strcat(js, b);
        snprintf(b, 100, "<entry id=\"%d\"><t>title %d</t></entry>", i, i);
        strcat(xm, b);
        snprintf(b, 100, "k%d: [a, b, %d]\n", i, i);
        strcat(ym, b);
    }
    strcat(js, "]");
    strcat(xm, "</feed>");
    serve_epoll(atoi(v[1]), ways);
    return acc;
}
