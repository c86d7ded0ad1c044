// Text: formatting, matching, converting, sorting by locale.
#include "tables.h"

#include <iconv.h>
#include <locale.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static char text[1 << 16], converted[1 << 18];
static long sum;

static const char *make_text(void) {
    for (size_t index = 0; index + 1 < sizeof text; index++) text[index] = "server 17 answered in 12 ms; "[index % 29];
    return NULL;
}

static const char *use_collation(void) {
    make_text();
    // The locale that is always installed requires the same work, in wide characters.
    return setlocale(LC_ALL, "C.UTF-8") ? NULL : "no locale C.UTF-8";
}

int find_addresses(moment end) {
    regex_t expression;
    if (regcomp(&expression, "([a-z]+ )*([0-9]+) [a-z]+ (in|at) [0-9]+ x", REG_EXTENDED) != 0) return -1;
    while (moment_now() < end) {
        regmatch_t match;
        text[2000] = 0;
        sum += regexec(&expression, text, 1, &match, 0);
    }
    regfree(&expression);
    return (int)sum;
}

int compile_filters(moment end) {
    while (moment_now() < end) {
        regex_t expression;
        if (regcomp(&expression, "^(([a-z0-9]{1,40}\\.){1,20}[a-z]{2,12}|localhost):[0-9]{1,5}$", REG_EXTENDED) == 0) {
            sum += (long)expression.re_nsub;
            regfree(&expression);
        }
    }
    return (int)sum;
}

int convert_mailbox(moment end) {
    while (moment_now() < end) {
        iconv_t converter = iconv_open("UTF-16LE", "ISO-8859-15");
        char *in = text, *out = converted;
        size_t in_left = sizeof text, out_left = sizeof converted;
        sum += (long)iconv(converter, &in, &in_left, &out, &out_left);
        iconv_close(converter);
    }
    return (int)sum;
}

int format_invoice(moment end) {
    while (moment_now() < end) {
        for (int line = 0; line < 50; line++) {
            sum += snprintf(converted, sizeof converted, "%-20s %12.4f %08x %'d", "position", (double)sum / 7, line, line * 1000);
        }
    }
    return (int)sum;
}

int read_measurements(moment end) {
    while (moment_now() < end) {
        double value;
        int number;
        for (int line = 0; line < 50; line++) sum += sscanf("17.25e-3 4711 volt", "%lf %d", &value, &number);
    }
    return (int)sum;
}

int print_calendar(moment end) {
    while (moment_now() < end) {
        for (time_t day = 0; day < 50; day++) {
            struct tm fields;
            time_t time = (sum + day) * 86399;
            localtime_r(&time, &fields);
            sum += (long)strftime(converted, sizeof converted, "%A %d %B %Y %H:%M:%S %Z", &fields);
        }
    }
    return (int)sum;
}

int widen_subtitles(moment end) {
    static wchar_t wide[sizeof text];
    while (moment_now() < end) {
        sum += (long)mbstowcs(wide, text, sizeof text);
        sum += (long)wcstombs(converted, wide, sizeof converted);
    }
    return (int)sum;
}

int count_fields(moment end) {
    while (moment_now() < end) {
        for (char *at = text; (at = strstr(at, "ms; server 18")) != NULL; at++) sum++;
        sum += (long)strcspn(text, "%");
    }
    return (int)sum;
}

const struct stall text_stalls[] = {
    {"regexec", "cpu", "find_addresses", NULL, NULL, "regexec that goes back often", make_text, NULL, find_addresses},
    {"regcomp", "cpu", "compile_filters", NULL, NULL, "regcomp of a pattern with repetitions", NULL, NULL, compile_filters},
    {"iconv", "cpu", "convert_mailbox", NULL, NULL, "iconv to UTF-16, in a module that is loaded for it", make_text, NULL,
     convert_mailbox},
    {"snprintf", "cpu", "format_invoice", NULL, NULL, "snprintf of numbers", NULL, NULL, format_invoice},
    {"sscanf", "cpu", "read_measurements", NULL, NULL, "sscanf of numbers", NULL, NULL, read_measurements},
    {"strftime", "cpu|syscall", "print_calendar", NULL, NULL, "localtime_r and strftime", NULL, NULL, print_calendar},
    {"multibyte", "cpu", "widen_subtitles", NULL, NULL, "mbstowcs and back in UTF-8", use_collation, NULL, widen_subtitles},
    {"strstr", "cpu", "count_fields", NULL, NULL, "string search: code of the C library for this processor", make_text, NULL,
     count_fields},
    {0},
};
