#define _GNU_SOURCE
#include "epoll_members.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cll_procfs_text.h"

// A line of the list; 0: it is another one. "tfd:        5 events:       19 data:                5  pos:0 ino:61 sdev:9".
static int clr_parse_member(const char *line, clr_epoll_member *member) {
    if (strncmp(line, "tfd:", 4) != 0) return 0;
    const char *at = line + 4;
    member->descriptor = (int32_t)cll_parse_number(&at, 10);
    at = strstr(at, "events:");
    if (at == NULL) return 0;
    at += 7;
    member->events = (uint32_t)cll_parse_number(&at, 16);
    return 1;
}

int clr_epoll_members_each(
    pid_t pid, int32_t epoll, unsigned most, int (*visit)(const clr_epoll_member *member, void *context), void *context
) {
    char name[24] = "fdinfo/", text[4096];
    if (epoll < 0) return -1;
    *cll_append_number(name + 7, (unsigned)epoll) = 0;
    int fd = cll_procfs_open(pid, 0, name);
    if (fd < 0) return -1;
    int result = 0;
    unsigned count = 0;
    size_t held = 0;
    while (result == 0) {
        ssize_t got = read(fd, text + held, sizeof(text) - 1 - held);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) result = -1;
        if (got <= 0) break;
        held += (size_t)got;
        text[held] = 0;
        char *line = text;
        for (char *end; result == 0 && (end = strchr(line, '\n')) != NULL; line = end + 1) {
            clr_epoll_member member;
            *end = 0;
            if (!clr_parse_member(line, &member)) continue;
            result = count++ == most ? -2 : visit(&member, context);
        }
        held -= (size_t)(line - text);
        memmove(text, line, held);
        // No line is as long.
        if (held == sizeof(text) - 1) break;
    }
    close(fd);
    return result;
}
