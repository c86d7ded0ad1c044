// SQLite, used through its C interface.
#include "tables.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static sqlite3 *database, *other;
static char path[64];

static int run(sqlite3 *by, const char *sql) { return sqlite3_exec(by, sql, NULL, NULL, NULL); }

static const char *open_file(void) {
    if (scratch_file(0, path) < 0) return failed("/var/tmp");
    if (sqlite3_open(path, &database) != SQLITE_OK || sqlite3_open(path, &other) != SQLITE_OK) return "sqlite3_open failed";
    run(database, "CREATE TABLE books (id INTEGER PRIMARY KEY, title TEXT)");
    run(database, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
                  "INSERT INTO books SELECT i, 'title ' || (i * 7919 % 3001) FROM n");
    return NULL;
}

// Opened read-only, because SQLite does not write to an unlinked file.
static const char *open_nameless(void) {
    const char *reason = open_file();
    unlink(path);
    return reason;
}

int stop_when_over(void *end) { return moment_now() >= *(moment *)end; }

int count_combinations(moment end) {
    sqlite3_progress_handler(database, 1000, stop_when_over, &end);
    int code = run(database, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n");
    return code == SQLITE_INTERRUPT;
}

static int begin_writing(void *unused) { return run(other, "BEGIN IMMEDIATE"); }
static int end_writing(void *unused) { return run(other, "COMMIT"); }
static void write_meanwhile(moment end) { hold_until(end, "importer", begin_writing, end_writing, NULL); }

static const char *open_patiently(void) {
    const char *reason = open_file();
    sqlite3_busy_timeout(database, 5000);
    return reason;
}

int save_preferences(moment end) {
    int code = run(database, "UPDATE books SET title = 'x' WHERE id = 1");
    unlink(path);
    return code;
}

// The program's computation for each row: long enough that most of the time is here and not in the library.
void score_title(sqlite3_context *context, int count, sqlite3_value **values) {
    const unsigned char *text = sqlite3_value_text(values[0]);
    unsigned score = 1;
    for (int round = 0; round < 3000; round++) {
        for (const unsigned char *at = text; *at; at++) score = (score ^ *at) * 16777619u;
    }
    sqlite3_result_int(context, (int)(score & 0xffff));
}

static const char *open_with_function(void) {
    const char *reason = open_nameless();
    sqlite3_create_function(database, "score", 1, SQLITE_UTF8, NULL, score_title, NULL, NULL);
    return reason;
}

int rank_books(moment end) {
    sqlite3_progress_handler(database, 10, stop_when_over, &end);
    int code = SQLITE_OK;
    while (moment_now() < end) code = run(database, "SELECT max(score(title)) FROM books");
    return code;
}

int compare_titles(void *unused, int left_length, const void *left, int right_length, const void *right) {
    int difference = 0;
    for (int weight = 1; weight <= 400; weight++) {
        unsigned sums[2] = {0, 0};
        for (int index = 0; index < left_length; index++) sums[0] += ((const unsigned char *)left)[index] ^ (unsigned)weight;
        for (int index = 0; index < right_length; index++) sums[1] += ((const unsigned char *)right)[index] ^ (unsigned)weight;
        difference += (int)sums[0] - (int)sums[1];
    }
    return difference;
}

static const char *open_with_collation(void) {
    const char *reason = open_nameless();
    sqlite3_create_collation(database, "weighted", SQLITE_UTF8, NULL, compare_titles);
    return reason;
}

int list_books_sorted(moment end) {
    int code = SQLITE_OK;
    while (moment_now() < end) code = run(database, "SELECT title FROM books WHERE id < 200 ORDER BY title COLLATE weighted");
    return code;
}

int append_log_entries(moment end) {
    int entries = 0;
    while (moment_now() < end) entries += run(database, "INSERT INTO books(title) VALUES ('entry')") == SQLITE_OK;
    unlink(path);
    return entries;
}

static int enter_connection(void *unused) {
    sqlite3_mutex_enter(sqlite3_db_mutex(database));
    return 0;
}

static int leave_connection(void *unused) {
    sqlite3_mutex_leave(sqlite3_db_mutex(database));
    return 0;
}

static void use_connection(moment end) { hold_until(end, "indexer", enter_connection, leave_connection, NULL); }

int read_cached_title(moment end) {
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(database, "SELECT title FROM books WHERE id = 5", -1, &statement, NULL);
    sqlite3_finalize(statement);
    return code;
}

static int print_row(void *end, int columns, char **values, char **names) {
    char line[256];
    int length = 0;
    for (int round = 0; round < 200; round++) {
        for (int column = 0; column < columns; column++) {
            length += snprintf(line, sizeof line, "%s = %s, round %d", names[column], values[column], round);
        }
    }
    return length == 0 || moment_now() >= *(moment *)end;
}

int print_all_books(moment end) {
    int code = SQLITE_OK;
    while (moment_now() < end) code = sqlite3_exec(database, "SELECT id, title FROM books", print_row, &end, NULL);
    return code;
}

int search_titles(moment end) {
    int found = 0;
    while (moment_now() < end) {
        sqlite3_stmt *statement;
        if (sqlite3_prepare_v2(database, "SELECT count(*) FROM books WHERE title LIKE '%le 2_9%'", -1, &statement, NULL) != SQLITE_OK)
            return -1;
        while (sqlite3_step(statement) == SQLITE_ROW) found += sqlite3_column_int(statement, 0);
        sqlite3_finalize(statement);
    }
    return found;
}

const struct stall sqlite_stalls[] = {
    {"sqlite-recursive-query", "cpu", "run|count_combinations", NULL, NULL, "a recursive query that counts", open_nameless, NULL,
     count_combinations},
    {"sqlite-like", "cpu", "search_titles", NULL, NULL, "repeated LIKE searches of a table", open_nameless, NULL, search_titles},
    {"sqlite-busy", "syscall", "run|save_preferences", NULL, NULL, "another connection writes: SQLite sleeps and retries",
     open_patiently, write_meanwhile, save_preferences},
    {"sqlite-function", "cpu", "score_title", "rank_books", NULL, "an SQL function of the program computes",
     open_with_function, NULL, rank_books},
    {"sqlite-collation", "cpu", "compare_titles", "list_books_sorted", NULL, "a collation of the program compares",
     open_with_collation, NULL, list_books_sorted},
    {"sqlite-row-callback", "cpu", "print_row", "print_all_books", NULL, "sqlite3_exec calls back for every row", open_nameless,
     NULL, print_all_books},
    {"sqlite-commits", "syscall", "run|append_log_entries", NULL, NULL, "one transaction for each entry, each with fsync", open_file, NULL,
     append_log_entries, 1},
    {"sqlite-connection-in-use", "lock", "read_cached_title", NULL, "indexer", "a connection that another thread uses",
     open_nameless, use_connection, read_cached_title},
    {0},
};
