// Going through a process's map, however long it is.
#define _GNU_SOURCE
#include "procfs_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int cll_maps_each(pid_t pid, void (*visit)(char *line, void *context), void *context) {
    char path[40] = "/proc/";
    memcpy(cll_append_number(path + 6, (unsigned)pid), "/maps", 6);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return errno == ENOENT ? ESRCH : errno;
    // Lines are up to a path long; what a piece breaks off goes in front of the next one.
    char text[8192 + 1];
    size_t kept = 0;
    int error = 0;
    for (;;) {
        ssize_t got = read(fd, text + kept, sizeof(text) - 1 - kept);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got <= 0) break;
        kept += (size_t)got;
        char *line = text, *end;
        while ((end = memchr(line, '\n', kept - (size_t)(line - text))) != NULL) {
            *end = 0;
            visit(line, context);
            line = end + 1;
        }
        kept -= (size_t)(line - text);
        memmove(text, line, kept);
        if (kept == sizeof(text) - 1) kept = 0;  // no line is that long
    }
    close(fd);
    return error;
}

typedef struct {
    uint64_t address;
    uint64_t low, high;
} cll_search;

static void cll_match_address(char *line, void *context) {
    cll_search *search = context;
    char *at = line;
    uint64_t low = strtoull(at, &at, 16);
    if (*at != '-') return;
    uint64_t high = strtoull(at + 1, NULL, 16);
    if (search->address < low || search->address >= high) return;
    search->low = low;
    search->high = high;
}

int cll_procfs_mapping(pid_t pid, uint64_t address, uint64_t *low, uint64_t *high) {
    cll_search search = {.address = address};
    int error = cll_maps_each(pid, cll_match_address, &search);
    *low = search.low;
    *high = search.high;
    return error;
}
