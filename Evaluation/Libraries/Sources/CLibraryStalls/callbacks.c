// Library functions that call the program back: the program's own function takes the time.
#include "tables.h"

#include <glob.h>
#include <search.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static char names[400][32];
static int results;

static const char *make_names(void) {
    for (int index = 0; index < 400; index++) {
        for (int at = 0; at < 31; at++) names[index][at] = (char)('a' + (index * 7919 + at * 31) % 26);
    }
    return NULL;
}

// Compares slowly, by every rotation of both. It may be inlined into the comparator, or replace its frame (a tail call). In both cases it
// counts as the comparator.
static int weigh(const char *left, const char *right) {
    int difference = 0;
    for (int rotation = 0; rotation < 31; rotation++) {
        for (int at = 0; at < 31; at++) difference += (left[(at + rotation) % 31] - right[at]) * (at + 1) % 7;
    }
    return difference;
}

int compare_players(const void *left, const void *right) { return weigh(left, right); }

int sort_players(moment end) {
    static char copy[400][32];
    while (moment_now() < end) {
        memcpy(copy, names, sizeof copy);
        qsort(copy, 400, 32, compare_players);
        results += copy[0][0];
    }
    return results;
}

int compare_with_key(const void *key, const void *entry) { return weigh(key, entry); }

int look_up_players(moment end) {
    while (moment_now() < end) {
        for (int index = 0; index < 400; index++) results += bsearch(names[index], names, 400, 32, compare_with_key) != NULL;
    }
    return results;
}

int compare_nodes(const void *left, const void *right) { return weigh(left, right); }

// The tree does not own the names.
static void keep_name(void *name) {}

int build_player_tree(moment end) {
    while (moment_now() < end) {
        void *tree = NULL;
        for (int index = 0; index < 400; index++) tsearch(names[index], &tree, compare_nodes);
        tdestroy(tree, keep_name);
    }
    return results;
}

static moment handler_end;

void on_timer_signal(int number) {
    unsigned state = 1;
    while (moment_now() < handler_end) {
        for (int round = 0; round < 2000; round++) state = state * 1664525u + 1013904223u;
    }
    results += (int)state;
}

static const char *install_handler(void) {
    struct sigaction act = {.sa_handler = on_timer_signal, .sa_flags = SA_RESTART};
    return sigaction(SIGUSR2, &act, NULL) == 0 ? NULL : failed("sigaction");
}

// The signal handler runs on top of the function that this function calls.
int request_snapshot(moment end) {
    handler_end = end;
    if (raise(SIGUSR2) != 0) return -1;
    return results;
}

static volatile int is_filling;

int fill_histogram(moment end) {
    handler_end = end;
    struct itimerval soon = {.it_value.tv_usec = 1000};
    signal(SIGALRM, on_timer_signal);
    setitimer(ITIMER_REAL, &soon, NULL);
    while (moment_now() < end) is_filling++;
    return is_filling;
}

static int on_glob_error(const char *path, int code) { return 0; }

int find_manuals(moment end) {
    while (moment_now() < end) {
        glob_t found;
        if (glob("/usr/lib/*/*.so*", 0, on_glob_error, &found) == 0) {
            results += (int)found.gl_pathc;
            globfree(&found);
        }
    }
    return results;
}

// Small and static, so the compiler inlines it into its only caller. Debug information contains it, the symbol table does not.
static int scale_rows(moment end, int factor) {
    unsigned state = (unsigned)factor;
    while (moment_now() < end) {
        for (int round = 0; round < 2000; round++) state = state * 69069u + 1;
    }
    return (int)state;
}

int redraw_chart(moment end) {
    int rows = scale_rows(end, 3);
    results += rows;
    return results;
}

// Own functions with the name prefixes of libdispatch and the Swift runtime.
int dispatch_orders(moment end) {
    static char copy[400][32];
    while (moment_now() < end) {
        for (int round = 0; round < 100; round++) memmove(copy, names, sizeof copy);
        results += copy[7][3];
    }
    return results;
}

int swift_transfer(moment end) {
    while (moment_now() < end) {
        for (int index = 0; index < 400; index++) results += (int)strlen(names[index]);
    }
    return results;
}

const struct stall callback_stalls[] = {
    {"qsort-comparator", "cpu", "compare_players|weigh", "sort_players", NULL, "qsort with a slow comparison", make_names, NULL,
     sort_players},
    {"bsearch-comparator", "cpu", "compare_with_key|weigh", "look_up_players", NULL, "bsearch with a slow comparison", make_names,
     NULL, look_up_players},
    {"tsearch-comparator", "cpu", "compare_nodes|weigh", "build_player_tree", NULL,
     "a tree of the C library with a slow comparison", make_names, NULL, build_player_tree},
    {"signal-handler-raised", "cpu", "on_timer_signal", "request_snapshot", NULL, "a signal handler computes, on top of raise()",
     install_handler, NULL, request_snapshot},
    {"signal-handler-timer", "cpu", "on_timer_signal", "fill_histogram", NULL,
     "a signal handler computes, on top of a computing function", NULL, NULL, fill_histogram},
    {"glob", "cpu|syscall", "find_manuals", NULL, NULL, "glob over the system's libraries: mostly time in the kernel", NULL,
     NULL, find_manuals},
    {"inlined-function", "cpu", "scale_rows", "redraw_chart", NULL,
     "a static function that the compiler inlines: debug information has its name", NULL, NULL, redraw_chart},
    {"name-like-libdispatch", "cpu", "dispatch_orders", NULL, NULL, "an own function with a name like libdispatch's functions",
     make_names, NULL, dispatch_orders},
    {"name-like-swift", "cpu", "swift_transfer", NULL, NULL, "an own function with a name like the Swift runtime's functions",
     make_names, NULL, swift_transfer},
    {0},
};
