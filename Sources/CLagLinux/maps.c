// Reads a process's map, however long it is.
#define _GNU_SOURCE
#include "cll_procfs_text.h"
#include "cll_spare.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The map from the thread, or from the main thread if `tid` is 0. The number of lines, or a negative errno; -E2BIG:
// it has more than `most` of them.
static long cll_maps_of_thread(pid_t pid, pid_t tid, long most, void (*visit)(char *line, void *context), void *context) {
    int fd = cll_procfs_open(pid, tid, "maps");
    if (fd < 0) return fd;
    // Lines may be as long as a path; an incomplete line at the end of a piece is moved to the front of the next one.
    char text[8192 + 1];
    size_t kept = 0;
    long lines = 0;
    int error = 0;
    for (;;) {
        ssize_t got = read(fd, text + kept, sizeof(text) - 1 - kept);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = errno;
        if (got > 0 && lines > most) error = E2BIG;
        if (got <= 0 || error != 0) break;
        kept += (size_t)got;
        char *line = text, *end;
        while ((end = memchr(line, '\n', kept - (size_t)(line - text))) != NULL) {
            *end = 0;
            visit(line, context);
            lines++;
            line = end + 1;
        }
        kept -= (size_t)(line - text);
        memmove(text, line, kept);
        if (kept == sizeof(text) - 1) kept = 0;  // no line is that long
    }
    cll_spare_close(fd);
    return error != 0 ? -(long)error : lines;
}

// Whether the main thread's map is empty because that thread has ended.
static int cll_has_no_map(long result) { return result == 0 || result == -ESRCH; }

static long cll_maps_at_most(pid_t pid, long most, void (*visit)(char *line, void *context), void *context) {
    long result = cll_maps_of_thread(pid, 0, most, visit, context);
    pid_t other = cll_has_no_map(result) ? cll_living_thread(pid) : 0;
    return other != 0 ? cll_maps_of_thread(pid, other, most, visit, context) : result;
}

int cll_maps_each(pid_t pid, void (*visit)(char *line, void *context), void *context) {
    long result = cll_maps_at_most(pid, LONG_MAX, visit, context);
    return result < 0 ? (int)-result : 0;
}

long cll_procfs_maps(pid_t pid, char *buffer, size_t size) {
    long result = cll_procfs_read(pid, 0, "maps", buffer, size);
    pid_t other = cll_has_no_map(result) ? cll_living_thread(pid) : 0;
    return other != 0 ? cll_procfs_read(pid, other, "maps", buffer, size) : result;
}

// Lines of code, and the lines that belong to them.
typedef struct {
    char *buffer;
    size_t size, used;
    char begin[4096 + 128];  // of the last file whose start is mapped: it belongs to a module if code of the same file follows
    uint64_t inode;
} cll_code_lines;

static void cll_append_line(cll_code_lines *lines, const char *line) {
    size_t length = strlen(line), room = lines->size - lines->used;
    // A full buffer shows that it was cut.
    if (length + 1 > room) length = room > 0 ? room - 1 : 0;
    memcpy(lines->buffer + lines->used, line, length);
    lines->used += length;
    if (lines->used < lines->size) lines->buffer[lines->used++] = '\n';
}

static void cll_take_code_line(char *line, void *context) {
    cll_code_lines *lines = context;
    // start-end perms offset device inode path
    const char *at = strchr(line, ' ');
    if (at == NULL || strlen(at) < 6) return;
    const char *rights = at + 1;
    at = rights + 5;
    const uint64_t offset = cll_parse_number(&at, 16);
    at = *at == ' ' ? strchr(at + 1, ' ') : NULL;
    const uint64_t inode = at != NULL ? cll_parse_number(&at, 10) : 0;
    if (rights[2] == 'x') {
        if (inode != 0 && inode == lines->inode) cll_append_line(lines, lines->begin);
        lines->inode = 0;
        cll_append_line(lines, line);
    } else if (inode != 0 && offset == 0 && rights[0] == 'r' && strlen(line) < sizeof(lines->begin)) {
        strcpy(lines->begin, line);
        lines->inode = inode;
    } else if (strstr(line, "OTEL_CTX") != NULL) {
        cll_append_line(lines, line);
    }
}

long cll_procfs_code_maps(pid_t pid, char *buffer, size_t size, long most) {
    cll_code_lines lines = {.buffer = buffer, .size = size};
    long result = cll_maps_at_most(pid, most, cll_take_code_line, &lines);
    return result < 0 ? result : (long)lines.used;
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

typedef struct {
    const char *name;
    size_t length;
    uint64_t low, high;
} cll_name_search;

static void cll_match_name(char *line, void *context) {
    cll_name_search *search = context;
    size_t length = strlen(line);
    // After five columns.
    if (search->high != 0 || length <= search->length || line[length - search->length - 1] != ' ' ||
        strcmp(line + length - search->length, search->name) != 0)
        return;
    char *at = line;
    uint64_t low = strtoull(at, &at, 16);
    if (*at != '-') return;
    search->low = low;
    search->high = strtoull(at + 1, NULL, 16);
}

int cll_procfs_mapping_of(pid_t pid, const char *name, uint64_t *low, uint64_t *high) {
    cll_name_search search = {.name = name, .length = strlen(name)};
    int error = cll_maps_each(pid, cll_match_name, &search);
    *low = search.low;
    *high = search.high;
    return error;
}

int cll_procfs_mapping(pid_t pid, uint64_t address, uint64_t *low, uint64_t *high) {
    cll_search search = {.address = address};
    int error = cll_maps_each(pid, cll_match_address, &search);
    *low = search.low;
    *high = search.high;
    return error;
}
