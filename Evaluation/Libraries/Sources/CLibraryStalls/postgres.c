// libpq, with a separate PostgreSQL on a Unix socket.
#include "tables.h"

#include <postgresql/libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static PGconn *connection, *other;
static char folder[256];

static const char script[] =
    "cd /; umask 077\n"
    "for bin in /usr/lib/postgresql/*/bin; do [ -x \"$bin/postgres\" ] && break; done\n"
    "[ -x \"$bin/postgres\" ] || { echo 'no PostgreSQL server below /usr/lib/postgresql'; exit; }\n"
    "folder=$(mktemp -d /tmp/librarystalls-XXXXXX)\n"
    // The server refuses to run as root.
    "as() { \"$@\"; }\n"
    "[ $(id -u) -ne 0 ] || { chown nobody $folder; as() { runuser -u nobody -- \"$@\"; }; }\n"
    "as $bin/initdb --no-sync --auth trust --username stalls --encoding UTF8 --pgdata $folder/data >/dev/null 2>&1 &&\n"
    "as $bin/pg_ctl --pgdata $folder/data --wait --log $folder/log --options \"-k $folder -h ''\" start >/dev/null 2>&1 &&\n"
    "echo ready $folder || echo 'PostgreSQL does not start'\n"
    "cat >/dev/null\n"
    "as $bin/pg_ctl --pgdata $folder/data --mode immediate stop >/dev/null 2>&1\n"
    "rm -rf $folder\n";

static PGconn *connect_to_server(void) {
    char text[320];
    snprintf(text, sizeof text, "host=%s user=stalls dbname=postgres", folder);
    return PQconnectdb(text);
}

static void execute(PGconn *by, const char *command) { PQclear(PQexec(by, command)); }

static const char *start(void) {
    const char *reason = start_server(script, folder, sizeof folder);
    if (reason) return reason;
    connection = connect_to_server();
    other = connect_to_server();
    if (PQstatus(connection) != CONNECTION_OK || PQstatus(other) != CONNECTION_OK) return "no connection to PostgreSQL";
    execute(connection, "CREATE TABLE accounts (id int PRIMARY KEY, balance int)");
    execute(connection, "INSERT INTO accounts SELECT i, 100 FROM generate_series(1, 1000) i");
    return NULL;
}

int load_sales_report(moment end) {
    char text[80];
    snprintf(text, sizeof text, "SELECT pg_sleep(%.4f)", (double)(end - moment_now()) / 1e9);
    PGresult *result = PQexec(connection, text);
    int rows = PQntuples(result);
    PQclear(result);
    return rows;
}

static int begin_and_lock(void *unused) {
    execute(other, "BEGIN; UPDATE accounts SET balance = 1 WHERE id = 7");
    return 0;
}

static int commit(void *unused) {
    execute(other, "COMMIT");
    return 0;
}

static void lock_row(moment end) { hold_until(end, "teller", begin_and_lock, commit, NULL); }

int book_payment(moment end) {
    PGresult *result = PQexec(connection, "UPDATE accounts SET balance = balance - 1 WHERE id = 7");
    int failed = PQresultStatus(result) != PGRES_COMMAND_OK;
    PQclear(result);
    return failed;
}

int export_all_rows(moment end) {
    PQclear(PQexec(connection, "COPY (SELECT generate_series(1, 100000000), md5('row')) TO STDOUT"));
    char *row;
    int bytes = 0, length;
    while (moment_now() < end && (length = PQgetCopyData(connection, &row, 0)) > 0) {
        bytes += length;
        PQfreemem(row);
    }
    return bytes;
}

int import_accounts(moment end) {
    int rows = 1000;
    char text[96];
    while (moment_now() < end) {
        snprintf(text, sizeof text, "INSERT INTO accounts VALUES (%d, 1)", ++rows);
        PQclear(PQexec(connection, text));
    }
    return rows;
}

static int listener, listener_port;

static const char *listen_silently(void) {
    listener = loopback_listener(8, &listener_port);
    return listener < 0 ? failed("listen") : NULL;
}

static int accept_and_close(void *unused) {
    close(accept(listener, NULL, NULL));
    return close(listener);
}

static void answer_late(moment end) { act_at(end, "silent-server", accept_and_close, NULL); }

int open_database(moment end) {
    char text[128];
    snprintf(text, sizeof text, "hostaddr=127.0.0.1 port=%d user=a dbname=a connect_timeout=10 sslmode=disable", listener_port);
    PGconn *opened = PQconnectdb(text);
    int failed = PQstatus(opened) != CONNECTION_OK;
    PQfinish(opened);
    return failed;
}

const struct stall postgres_stalls[] = {
    {"pq-slow-query", "syscall", "load_sales_report", NULL, NULL, "PQexec of a slow query", start, NULL,
     load_sales_report},
    {"pq-lock-wait", "syscall", "book_payment", NULL, NULL, "an UPDATE of a row that another transaction has locked", start,
     lock_row, book_payment},
    {"pq-copy-out", "syscall|cpu", "export_all_rows", NULL, NULL, "COPY TO STDOUT: waiting for rows and parsing them", start,
     NULL, export_all_rows},
    {"pq-many-inserts", "syscall", "import_accounts", NULL, NULL, "one statement for each row: many short waits for the server", start,
     NULL, import_accounts, 1},
    {"pq-connect-silent", "syscall", "open_database", NULL, NULL,
     "PQconnectdb to a server that accepts the connection and stays silent", listen_silently, answer_late, open_database},
    {0},
};
