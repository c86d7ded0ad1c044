// Reads a thread's `status`, however long it is: one line contains each supplementary group of the process, of which
// there may be 65,536 (NGROUPS_MAX), and most of the requested fields follow it.
#define _GNU_SOURCE
#include "cll_procfs.h"
#include "cll_procfs_text.h"
#include "cll_spare.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int cll_lines_each(int fd, int (*visit)(char *line, void *context), void *context) {
    char text[4096];
    size_t held = 0;
    int result = 0, is_inside = 0;
    while (result == 0) {
        ssize_t got = read(fd, text + held, sizeof(text) - 1 - held);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = -errno;
        if (got <= 0) break;
        held += (size_t)got;
        char *line = text, *end;
        while (result == 0 && (end = memchr(line, '\n', held - (size_t)(line - text))) != NULL) {
            *end = 0;
            // The rest of a line that was already passed on is not a line.
            if (!is_inside) result = visit(line, context);
            is_inside = 0;
            line = end + 1;
        }
        held -= (size_t)(line - text);
        memmove(text, line, held);
        if (held < sizeof(text) - 1) continue;
        text[held] = 0;
        if (!is_inside && result == 0) result = visit(text, context);
        is_inside = 1;
        held = 0;
    }
    return result;
}

const char *cll_status_field(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? at + strlen(name) : NULL;
}

enum { STATE, PENDING, SHARED_PENDING, BLOCKED, CAUGHT, VOLUNTARY, INVOLUNTARY, FIELDS };

typedef struct cll_status_search {
    cll_thread_status *status;
    unsigned found;  // a bit for each of FIELDS
} cll_status_search;

static int cll_visit_status(char *line, void *context) {
    static const struct {
        const char *name;
        size_t length;
    } fields[FIELDS] = {
        {"State:\t", 7}, {"SigPnd:\t", 8}, {"ShdPnd:\t", 8}, {"SigBlk:\t", 8}, {"SigCgt:\t", 8},
        {"voluntary_ctxt_switches:\t", 25}, {"nonvoluntary_ctxt_switches:\t", 28},
    };
    cll_status_search *search = context;
    int field = 0;
    while (field < FIELDS && strncmp(line, fields[field].name, fields[field].length) != 0) field++;
    if (field == FIELDS) return 0;
    const char *at = line + fields[field].length;
    cll_thread_status *status = search->status;
    switch (field) {
        case STATE: status->state = *at; break;
        case PENDING:
        case SHARED_PENDING: status->pending_signals |= cll_parse_number(&at, 16); break;
        case BLOCKED: status->blocked_signals = cll_parse_number(&at, 16); break;
        case CAUGHT: status->caught_signals = cll_parse_number(&at, 16); break;
        case VOLUNTARY: status->voluntary_switches = cll_parse_number(&at, 10); break;
        default: status->involuntary_switches = cll_parse_number(&at, 10);
    }
    search->found |= 1u << field;
    return search->found == (1u << FIELDS) - 1;
}

int cll_status_read(int fd, cll_thread_status *status) {
    cll_status_search search = {.status = status};
    memset(status, 0, sizeof(*status));
    status->state = '?';
    int result = cll_lines_each(fd, cll_visit_status, &search);
    // A field that the kernel does not report is not 0.
    return result < 0 ? -result : result == 0 ? ENODATA : 0;
}

int cll_procfs_status(pid_t pid, pid_t tid, cll_thread_status *status) {
    int fd = cll_procfs_open(pid, tid, "status");
    if (fd < 0) return -fd;
    int error = cll_status_read(fd, status);
    cll_spare_close(fd);
    return error;
}
