// libuv's loop inside the callout, LMDB, ICU, libxslt.
#include "tables.h"

#include <libxslt/transform.h>
#include <libxslt/xsltutils.h>
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <unicode/ucol.h>
#include <unistd.h>
#include <uv.h>

static volatile unsigned found;
static char path[64];
static MDB_env *environment;
static moment deadline;

static const char *make_database(void) {
    int file = scratch_file(0, path);
    if (file < 0) return failed("/var/tmp");
    close(file);
    static char lock[80];
    snprintf(lock, sizeof lock, "%s-lock", path);
    remove_at_end(path);
    if (mdb_env_create(&environment) != 0) return "mdb_env_create failed";
    mdb_env_set_mapsize(environment, 1 << 26);
    if (mdb_env_open(environment, path, MDB_NOSUBDIR | MDB_NOSYNC, 0600) != 0) return "mdb_env_open failed";
    unlink(lock);
    return NULL;
}

int store_sessions(moment end) {
    while (moment_now() < end) {
        MDB_txn *transaction;
        MDB_dbi table;
        mdb_txn_begin(environment, NULL, 0, &transaction);
        mdb_dbi_open(transaction, NULL, 0, &table);
        for (unsigned index = 0; index < 1000; index++) {
            unsigned number = index * 7919u % 4096u;
            MDB_val key = {sizeof number, &number}, value = {sizeof path, path};
            mdb_put(transaction, table, &key, &value, 0);
        }
        mdb_txn_commit(transaction);
        found++;
    }
    return 0;
}

void poll_sensor(uv_timer_t *timer) {
    while (moment_now() < deadline) {
        for (unsigned round = 0; round < 5000; round++) found += round ^ found >> 3;
    }
}

int run_device_loop(moment end) {
    uv_loop_t loop;
    uv_timer_t timer;
    deadline = end;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &timer);
    uv_timer_start(&timer, poll_sensor, 0, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

void stop_device(uv_timer_t *timer) { uv_stop(timer->loop); }

int await_device(moment end) {
    uv_loop_t loop;
    uv_timer_t timer;
    uv_loop_init(&loop);
    uv_timer_init(&loop, &timer);
    uint64_t now = moment_now();
    uv_timer_start(&timer, stop_device, end > now ? (end - now) / 1000000u : 0, 0);
    uv_run(&loop, UV_RUN_DEFAULT);
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop);
}

int sort_contacts(moment end) {
    UErrorCode code = U_ZERO_ERROR;
    UCollator *collator = ucol_open("de", &code);
    static const UChar left[] = u"M\u00fcller, Andr\u00e9 und S\u00f6hne", right[] = u"M\u00fcller, Andre und Soehne";
    while (moment_now() < end) {
        for (int index = 0; index < 200; index++) found += (unsigned)ucol_strcoll(collator, left, -1, right, -1);
    }
    ucol_close(collator);
    return 0;
}

int render_report(moment end) {
    static const char style[] =
        "<xsl:stylesheet version='1.0' xmlns:xsl='http://www.w3.org/1999/XSL/Transform'><xsl:template match='/'>"
        "<t><xsl:for-each select='//i'><xsl:sort select='.'/><r><xsl:value-of select='.'/></r></xsl:for-each></t>"
        "</xsl:template></xsl:stylesheet>";
    static char text[8192];
    size_t length = (size_t)sprintf(text, "<l>");
    for (int index = 0; index < 300; index++) length += (size_t)sprintf(text + length, "<i>%d</i>", index * 7919 % 300);
    length += (size_t)sprintf(text + length, "</l>");
    xmlDocPtr document = xmlReadMemory(text, (int)length, NULL, NULL, 0);
    xsltStylesheetPtr sheet = xsltParseStylesheetDoc(xmlReadMemory(style, sizeof style - 1, NULL, NULL, 0));
    while (moment_now() < end) {
        xmlDocPtr result = xsltApplyStylesheet(sheet, document, NULL);
        found += result != NULL;
        xmlFreeDoc(result);
    }
    xsltFreeStylesheet(sheet);
    xmlFreeDoc(document);
    return 0;
}

const struct stall engine_stalls[] = {
    {"lmdb-put", "cpu", "store_sessions", NULL, NULL, "mdb_put and mdb_txn_commit without fsync", make_database, NULL,
     store_sessions},
    {"uv-timer-callback", "cpu", "poll_sensor", "run_device_loop", NULL, "libuv's loop within the callout: a timer computes", NULL,
     NULL, run_device_loop},
    {"uv-run-idle", "syscall", "await_device", NULL, NULL, "libuv's loop within the callout waits for a timer", NULL, NULL,
     await_device, 1},
    {"icu-collation", "cpu", "sort_contacts", NULL, NULL, "ucol_strcoll", NULL, NULL, sort_contacts},
    {"xslt-transform", "cpu", "render_report", NULL, NULL, "xsltApplyStylesheet", NULL, NULL, render_report},
    {0},
};
