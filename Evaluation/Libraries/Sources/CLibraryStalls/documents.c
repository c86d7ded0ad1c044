// libxml2 and libcurl.
#include "tables.h"

#include <curl/curl.h>
#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/xpath.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char document[1 << 18];
static xmlDocPtr parsed;

static const char *make_document(void) {
    int length = snprintf(document, sizeof document, "<shop>");
    for (int item = 0; length < (int)sizeof document - 200; item++) {
        length += snprintf(document + length, 200, "<item id='%d'><name>lamp %d</name><price unit='euro'>%d.50</price></item>", item,
                           item, item * 7919 % 1000);
    }
    snprintf(document + length, sizeof document - (size_t)length, "</shop>");
    return NULL;
}

static const char *parse_document(void) {
    make_document();
    parsed = xmlReadMemory(document, (int)strlen(document), NULL, NULL, 0);
    return parsed ? NULL : "xmlReadMemory failed";
}

int load_catalog(moment end) {
    int loaded = 0;
    while (moment_now() < end) {
        xmlDocPtr catalog = xmlReadMemory(document, (int)strlen(document), NULL, NULL, 0);
        loaded += catalog != NULL;
        xmlFreeDoc(catalog);
    }
    return loaded;
}

int find_cheap_items(moment end) {
    int found = 0;
    while (moment_now() < end) {
        xmlXPathContextPtr context = xmlXPathNewContext(parsed);
        xmlXPathObjectPtr items = xmlXPathEvalExpression((const xmlChar *)"//item[price < 100]/name", context);
        found += items->nodesetval ? items->nodesetval->nodeNr : 0;
        xmlXPathFreeObject(items);
        xmlXPathFreeContext(context);
    }
    return found;
}

static unsigned element_sum;

void count_element(void *unused, const xmlChar *name, const xmlChar **attributes) {
    unsigned sum = 1;
    for (int round = 0; round < 2000; round++) {
        for (const xmlChar *at = name; *at; at++) sum = (sum ^ *at) * 16777619u;
    }
    element_sum += sum;
}

int stream_catalog(moment end) {
    xmlSAXHandler handler = {.startElement = count_element};
    while (moment_now() < end) xmlSAXUserParseMemory(&handler, NULL, document, (int)strlen(document));
    return (int)element_sum;
}

static int listener, listener_port;

static const char *listen_for_http(void) {
    listener = loopback_listener(8, &listener_port);
    return listener < 0 ? failed("listen") : NULL;
}

int http_port(void) { return listener_port; }

static int answer(void *unused) {
    static char page[1 << 17];
    int client = accept(listener, NULL, NULL);
    char request[1024];
    int length = snprintf(page, sizeof page, "HTTP/1.0 200 OK\r\nContent-Length: %zu\r\n\r\n", sizeof page - 256);
    if (read(client, request, sizeof request) <= 0) return -1;
    send(client, page, (size_t)length, MSG_NOSIGNAL);
    for (size_t sent = 0; sent < sizeof page - 256; sent += 4096) send(client, page, 4096, MSG_NOSIGNAL);
    return close(client);
}

static void answer_late(moment end) { act_at(end, "http-server", answer, NULL); }
static void answer_now(moment end) { act_at(moment_now(), "http-server", answer, NULL); }

static size_t ignore_chunk(char *bytes, size_t size, size_t count, void *unused) { return size * count; }

static int get(curl_write_callback take, void *argument) {
    char address[64];
    snprintf(address, sizeof address, "http://127.0.0.1:%d/", listener_port);
    CURL *request = curl_easy_init();
    curl_easy_setopt(request, CURLOPT_URL, address);
    curl_easy_setopt(request, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(request, CURLOPT_PROXY, "");
    curl_easy_setopt(request, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(request, CURLOPT_WRITEDATA, argument);
    int code = (int)curl_easy_perform(request);
    curl_easy_cleanup(request);
    return code;
}

int download_feed(moment end) {
    int code = get(ignore_chunk, NULL);
    return code + 1;
}

// The callback for the first chunk computes until the end.
size_t decode_chunk(char *bytes, size_t size, size_t count, void *end) {
    unsigned sum = 1;
    do {
        for (size_t index = 0; index < size * count; index++) sum = (sum ^ (unsigned char)bytes[index]) * 16777619u;
    } while (moment_now() < *(moment *)end);
    element_sum += sum;
    return size * count;
}

int play_stream(moment end) {
    int code = get(decode_chunk, &end);
    return code + 1;
}

const struct stall document_stalls[] = {
    {"xml-parse", "cpu", "load_catalog", NULL, NULL, "xmlReadMemory", make_document, NULL, load_catalog},
    {"xml-xpath", "cpu", "find_cheap_items", NULL, NULL, "an XPath over all items", parse_document, NULL, find_cheap_items},
    {"xml-sax-callback", "cpu", "count_element", "stream_catalog", NULL, "the parser calls back for every element", make_document,
     NULL, stream_catalog},
    // get() has two callers and may be inlined or not: the nearest own function is get() or its caller.
    {"curl-silent-server", "syscall", "get|download_feed", "handle_event", NULL,
     "curl_easy_perform with a server that answers late", listen_for_http, answer_late, download_feed},
    {"curl-write-callback", "cpu", "decode_chunk", "get|play_stream", NULL, "received data is decoded in curl's callback",
     listen_for_http, answer_now, play_stream},
    {0},
};
