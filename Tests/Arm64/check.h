// Named assertions. Each prints a line: `ok NAME`, or `FAILED NAME: why`.
#ifndef CHECK_H
#define CHECK_H

#include <stdarg.h>
#include <stdio.h>

static int checks_failed;

__attribute__((format(printf, 3, 4))) static int check(int holds, const char *name, const char *why, ...) {
    if (holds) {
        printf("ok %s\n", name);
    } else {
        checks_failed = 1;
        printf("FAILED %s: ", name);
        va_list values;
        va_start(values, why);
        vprintf(why, values);
        va_end(values);
        printf("\n");
    }
    fflush(stdout);
    return holds;
}

#endif
