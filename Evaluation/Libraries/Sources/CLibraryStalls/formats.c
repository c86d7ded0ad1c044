// Expat, Jansson, PCRE2. Not json-c (its names are the same as Jansson's), not libyaml (its functions are already in Yams).
#include "tables.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <expat.h>
#include <jansson.h>
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

static char text[1 << 17];
static volatile unsigned found;

static const char *make_xml(void) {
    size_t length = (size_t)sprintf(text, "<list>");
    while (length < sizeof text - 100) length += (size_t)sprintf(text + length, "<item id=\"%zu\"><b>x &amp; y</b></item>", length);
    strcpy(text + length, "</list>");
    return NULL;
}

static const char *make_json(void) {
    size_t length = (size_t)sprintf(text, "[");
    while (length < sizeof text - 100) length += (size_t)sprintf(text + length, "{\"id\": %zu, \"tags\": [1.5, \"a\"]},", length);
    strcpy(text + length, "0]");
    return NULL;
}

int read_feed(moment end) {
    while (moment_now() < end) {
        XML_Parser parser = XML_ParserCreate(NULL);
        found += XML_Parse(parser, text, (int)strlen(text), 1);
        XML_ParserFree(parser);
    }
    return 0;
}

void start_item(void *data, const XML_Char *name, const XML_Char **attributes) {
    for (unsigned round = 0; round < 4000; round++) found += (unsigned)(name[0] ^ round);
}

int index_feed(moment end) {
    while (moment_now() < end) {
        XML_Parser parser = XML_ParserCreate(NULL);
        XML_SetStartElementHandler(parser, start_item);
        found += XML_Parse(parser, text, (int)strlen(text), 1);
        XML_ParserFree(parser);
    }
    return 0;
}

int load_settings(moment end) {
    while (moment_now() < end) {
        json_t *root = json_loads(text, 0, NULL);
        found += (unsigned)json_array_size(root);
        json_decref(root);
    }
    return 0;
}

static pcre2_code *compiled(const char *pattern) {
    int error;
    PCRE2_SIZE at;
    return pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, 0, &error, &at, NULL);
}

int validate_address(moment end) {
    pcre2_code *code = compiled("^(a+)+$");
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    while (moment_now() < end) found += (unsigned)pcre2_match(code, (PCRE2_SPTR)"aaaaaaaaaaaaaaaaab", 18, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return 0;
}

int on_pattern_step(pcre2_callout_block *block, void *argument) {
    for (unsigned round = 0; round < 20000; round++) found += (unsigned)(block->current_position ^ round);
    return 0;
}

int trace_pattern(moment end) {
    pcre2_code *code = compiled("(?:a(?C1))*b");
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    pcre2_match_context *context = pcre2_match_context_create(NULL);
    pcre2_set_callout(context, on_pattern_step, NULL);
    while (moment_now() < end) found += (unsigned)pcre2_match(code, (PCRE2_SPTR)"aaaab", 5, 0, 0, data, context);
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return 0;
}

const struct stall format_stalls[] = {
    {"expat-parse", "cpu", "read_feed", NULL, NULL, "XML_Parse without handlers", make_xml, NULL, read_feed},
    {"expat-handler", "cpu", "start_item", "index_feed", NULL, "Expat calls a slow handler for every element", make_xml, NULL,
     index_feed},
    {"jansson-load", "cpu", "load_settings", NULL, NULL, "json_loads", make_json, NULL, load_settings},
    {"pcre2-backtracking", "cpu", "validate_address", NULL, NULL, "a pattern with exponential backtracking", NULL, NULL,
     validate_address},
    {"pcre2-callout", "cpu", "on_pattern_step", "trace_pattern", NULL, "PCRE2 calls a slow function at a point of the pattern",
     NULL, NULL, trace_pattern},
    {0},
};
