#define _GNU_SOURCE
#include "epoll_members.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cll_procfs_text.h"

uint64_t clr_open_descriptors(pid_t pid) {
    char path[40] = "/proc/";
    memcpy(cll_append_number(path + 6, (unsigned)pid), "/fd", 4);
    struct stat folder;
    return stat(path, &folder) == 0 ? (uint64_t)folder.st_size : 0;
}

static int clr_visit_nothing(unsigned descriptor, void *context) { return 0; }

// The number of members is not known before the kernel makes the list; it is mostly at most the number of the process's descriptors.
static int clr_may_have_many(pid_t pid) {
    uint64_t open = clr_open_descriptors(pid);
    if (open != 0) return open > CLR_MEMBERS_MAX;
    return cll_procfs_each(pid, "fd", CLR_MEMBERS_MAX, clr_visit_nothing, NULL) == -2;
}

// Parses a line of the list; 0: another kind of line. "tfd:        5 events:       19 data:                5  pos:0 ino:61 sdev:9".
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

typedef struct clr_member_visit {
    int (*visit)(const clr_epoll_member *member, void *context);
    void *context;
    unsigned left;
    int result;
} clr_member_visit;

static int clr_visit_line(char *line, void *context) {
    clr_member_visit *members = context;
    clr_epoll_member member;
    if (!clr_parse_member(line, &member)) return 0;
    members->result = members->left == 0 ? -2 : members->visit(&member, members->context);
    if (members->left > 0) members->left--;
    return members->result != 0;
}

int clr_epoll_members_each(
    pid_t pid, int32_t epoll, unsigned most, int (*visit)(const clr_epoll_member *member, void *context), void *context
) {
    char name[24] = "fdinfo/";
    if (epoll < 0) return -1;
    if (clr_may_have_many(pid)) return -2;
    *cll_append_number(name + 7, (unsigned)epoll) = 0;
    int fd = cll_procfs_open(pid, 0, name);
    if (fd < 0) return -1;
    clr_member_visit members = {.visit = visit, .context = context, .left = most};
    int result = cll_lines_each(fd, clr_visit_line, &members);
    close(fd);
    return result < 0 ? -1 : members.result;
}
