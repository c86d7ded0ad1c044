//! build: gcc -O2 $S -o $O -l:libcmark.a -l:libgumbo.a -l:libmxml.a -lpthread && cp $O $O.full && strip $O
//! part: kept
//! packages: libcmark-dev libgumbo-dev libmxml-dev
//! stall md | render_page | render_page|on_md | cpu
//! stall html | links_of | links_of|count_links|on_html | cpu
//! stall sax | take_node | take_node|load_config|on_sax | syscall
#include "stall.h"
#include <cmark.h>
#include <gumbo.h>
#include <mxml.h>
static volatile long acc;
static char md[60000], html[60000];
static int render_page(const char *s, size_t n) {
    char *h = cmark_markdown_to_html(s, n, 0);
    int k = strlen(h);
    free(h);
    return k;
}
void on_md(void) { REPEAT(acc += render_page(md, strlen(md))); }
static int links_of(const GumboNode *n) {
    if (n->type != GUMBO_NODE_ELEMENT) return 0;
    int k = n->v.element.tag == GUMBO_TAG_A;
    for (unsigned i = 0; i < n->v.element.children.length; i++) k += links_of(n->v.element.children.data[i]);
    return k;
}
static int count_links(const char *s) {
    GumboOutput *o = gumbo_parse(s);
    int k = links_of(o->root);
    gumbo_destroy_output(&kGumboDefaultOptions, o);
    return k;
}
void on_html(void) { REPEAT(acc += count_links(html)); }
static void take_node(mxml_node_t *n, mxml_sax_event_t ev, void *u) {
    (void)n;
    if (ev == MXML_SAX_ELEMENT_OPEN) {
        ++*(int *)u;
        usleep(15000);
    }
}
static int load_config(const char *s) {
    int n = 0;
    mxml_node_t *t = mxmlSAXLoadString(0, s, MXML_OPAQUE_CALLBACK, take_node, &n);
    mxmlDelete(t);
    return n;
}
void on_sax(void) {
    char x[2000] = "<?xml version='1.0'?><c>";
    for (int i = 0; i < 28; i++) strcat(x, "<v a='1'>text</v>");
    strcat(x, "</c>");
    acc += load_config(x);
}
static const struct way ways[] = {{"md", on_md}, {"html", on_html}, {"sax", on_sax}, {0, 0}};
int main(int c, char **v) {
    (void)c;
    for (int i = 0; i < 400; i++) {
        sprintf(md + strlen(md), "## Title %d\n* some *text* with [link](u%d)\n\n", i, i);
        sprintf(html + strlen(html), "<div><p>text %d<a href=x%d>y</a></div>", i, i);
    }
    serve_epoll(atoi(v[1]), ways);
}
