// Finds the only listening socket of a process.
#define _GNU_SOURCE
#include "clr_wait_object.h"

#include <poll.h>

#include "cll_procfs_text.h"
#include "foreign_descriptor.h"

typedef struct clr_lone_search {
    int pidfd;
    pid_t pid;
    clr_wait_object *object;
} clr_lone_search;

// Records a listening socket. 1: it is, or may be, a second one.
static int clr_visit_lone(unsigned descriptor, void *context) {
    const clr_lone_search *search = context;
    int listens = clr_listens(search->pidfd, search->pid, (int)descriptor);
    if (listens <= 0) return listens < 0;
    if (search->object->count > 0) return 1;
    char link[LINK_BYTES];
    ssize_t length = clr_link(search->pid, (int)descriptor, link);
    if (length < 0) return 0;
    search->object->waited[search->object->count++] =
        (clr_waited){.descriptor = (int32_t)descriptor, .events = POLLIN, .identity = clr_identity(link, length)};
    return 0;
}

int clr_lone_listener(int pidfd, pid_t pid, clr_wait_object *object) {
    enum { MOST_DESCRIPTORS = 1024 };
    clr_lone_search search = {.pidfd = pidfd, .pid = pid, .object = object};
    object->epoll = -1;
    object->is_ring = 0;
    object->count = 0;
    object->is_complete = 1;
    return cll_procfs_each(pid, "fd", MOST_DESCRIPTORS, clr_visit_lone, &search) == 0 && object->count == 1;
}
