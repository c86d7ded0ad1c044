// GLib: its main loop inside the callout, callbacks, and locks that are not pthread locks.
#include "tables.h"

#include <glib.h>
#include <string.h>

static volatile unsigned found;
static char words[400][16];
static GMutex mutex;
static GAsyncQueue *queue;

static const char *make_words(void) {
    for (int index = 0; index < 400; index++) g_snprintf(words[index], sizeof words[index], "word-%d", index * 7919 % 400);
    return NULL;
}

static int lock_mutex(void *argument) {
    g_mutex_lock(&mutex);
    return 0;
}

static int unlock_mutex(void *argument) {
    g_mutex_unlock(&mutex);
    return 0;
}

static int push_item(void *argument) {
    g_async_queue_push(queue, words);
    return 0;
}

static const char *make_queue(void) {
    queue = g_async_queue_new();
    return NULL;
}

static void hold_mutex(moment end) { hold_until(end, "theme-loader", lock_mutex, unlock_mutex, NULL); }
static void push_late(moment end) { act_at(end, "prefetcher", push_item, NULL); }

int open_theme(moment end) {
    g_mutex_lock(&mutex);
    found++;
    g_mutex_unlock(&mutex);
    return 0;
}

int take_prefetched(moment end) {
    found += g_async_queue_pop(queue) != NULL;
    return 0;
}

int search_history(moment end) {
    GRegex *pattern = g_regex_new("(\\w+-\\d+)+x", 0, 0, NULL);
    while (moment_now() < end) {
        for (int index = 0; index < 400; index++) found += (unsigned)g_regex_match(pattern, words[index], 0, NULL);
    }
    g_regex_unref(pattern);
    return 0;
}

gint compare_bookmarks(gconstpointer left, gconstpointer right) {
    int difference = 0;
    for (int round = 1; round < 600; round++) difference += (words[(round * 7) % 400][5] ^ round) % 3;
    found += (unsigned)difference;
    return strcmp(left, right);
}

int sort_bookmarks(moment end) {
    while (moment_now() < end) {
        GList *list = NULL;
        for (int index = 0; index < 400; index++) list = g_list_prepend(list, words[index]);
        list = g_list_sort(list, compare_bookmarks);
        g_list_free(list);
    }
    return 0;
}

void sum_bookmark(gpointer key, gpointer value, gpointer argument) {
    const char *text = key;
    for (unsigned round = 0; round < 20000; round++) found += (unsigned)text[round % 4] ^ round;
}

int sum_bookmarks(moment end) {
    GHashTable *table = g_hash_table_new(g_str_hash, g_str_equal);
    for (int index = 0; index < 400; index++) g_hash_table_insert(table, words[index], words[index]);
    while (moment_now() < end) g_hash_table_foreach(table, sum_bookmark, NULL);
    g_hash_table_destroy(table);
    return 0;
}

gboolean repaint_sidebar(gpointer argument) {
    while (moment_now() < *(moment *)argument) {
        for (unsigned round = 0; round < 5000; round++) found += round ^ (unsigned)words[round % 400][5];
    }
    return G_SOURCE_REMOVE;
}

int run_modal_dialog(moment end) {
    GMainContext *context = g_main_context_new();
    GSource *source = g_idle_source_new();
    g_source_set_callback(source, repaint_sidebar, &end, NULL);
    g_source_attach(source, context);
    while (moment_now() < end) g_main_context_iteration(context, TRUE);
    g_source_unref(source);
    g_main_context_unref(context);
    return 0;
}

int save_session(moment end) {
    while (moment_now() < end) {
        GVariantBuilder builder;
        g_variant_builder_init(&builder, G_VARIANT_TYPE("a(si)"));
        for (int index = 0; index < 400; index++) g_variant_builder_add(&builder, "(si)", words[index], index);
        GVariant *value = g_variant_ref_sink(g_variant_builder_end(&builder));
        char *text = g_variant_print(value, FALSE);
        found += (unsigned)strlen(text);
        g_free(text);
        g_variant_unref(value);
    }
    return 0;
}

const struct stall glib_stalls[] = {
    {"glib-mutex", "lock", "open_theme", NULL, NULL, "GMutex, a futex without an owner", NULL, hold_mutex, open_theme},
    {"glib-async-queue", "lock", "take_prefetched", NULL, NULL, "g_async_queue_pop from a queue that gets data late", make_queue,
     push_late, take_prefetched},
    {"glib-regex", "cpu", "search_history", NULL, NULL, "g_regex_match, compiled by PCRE2", make_words, NULL, search_history},
    {"glib-sort-comparator", "cpu", "compare_bookmarks", "sort_bookmarks", NULL, "g_list_sort with a slow comparison",
     make_words, NULL, sort_bookmarks},
    {"glib-hash-foreach", "cpu", "sum_bookmark", "sum_bookmarks", NULL, "g_hash_table_foreach with a slow function", make_words,
     NULL, sum_bookmarks},
    {"glib-idle-source", "cpu", "repaint_sidebar", "run_modal_dialog", NULL, "GLib's main loop inside the callout: an idle source computes",
     make_words, NULL, run_modal_dialog},
    {"glib-variant-print", "cpu", "save_session", NULL, NULL, "a GVariant is built and printed", make_words, NULL, save_session},
    {0},
};
