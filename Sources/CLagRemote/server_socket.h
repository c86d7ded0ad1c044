// Recognises sockets of another process that connect it with its clients.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include "foreign_descriptor.h"
#include "cll_procfs_text.h"

// The first port that connect(2) chooses by itself (ip_sysctl, ip_local_port_range); a lower port was explicitly requested, like a server's.
static inline unsigned clr_first_chosen_port(void) {
    static unsigned first;
    unsigned known = __atomic_load_n(&first, __ATOMIC_RELAXED);
    if (known != 0) return known;
    char text[32] = {0};
    int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        if (read(fd, text, sizeof(text) - 1) < 0) text[0] = 0;
        close(fd);
    }
    const char *at = text;
    known = (unsigned)cll_parse_number(&at, 10);
    if (known == 0) known = 32768;
    __atomic_store_n(&first, known, __ATOMIC_RELAXED);
    return known;
}

// A socket's own address as far as it identifies a listener: a local name, or a port in host order; neither: 0 and 0.
typedef struct clr_own_address {
    int has_name;
    uint16_t port;
} clr_own_address;

static inline clr_own_address clr_address_of(int socket) {
    union {
        struct sockaddr any;
        struct sockaddr_un local;
        struct sockaddr_in ip4;
        struct sockaddr_in6 ip6;
        struct sockaddr_storage room;
    } own;
    socklen_t length = sizeof(own);
    if (getsockname(socket, &own.any, &length) != 0) return (clr_own_address){0};
    switch (own.any.sa_family) {
        case AF_UNIX: return (clr_own_address){.has_name = length > offsetof(struct sockaddr_un, sun_path)};
        case AF_INET: return (clr_own_address){.port = ntohs(own.ip4.sin_port)};
        case AF_INET6: return (clr_own_address){.port = ntohs(own.ip6.sin6_port)};
        default: return (clr_own_address){0};
    }
}

// Whether a socket is connected to a display server (X11, Wayland), and thus to a user.
static inline int clr_is_display(int socket) {
    struct sockaddr_un other = {0};
    socklen_t length = sizeof(other);
    if (getpeername(socket, (struct sockaddr *)&other, &length) != 0 || other.sun_family != AF_UNIX || length > sizeof(other)) return 0;
    // The first byte of an abstract name is NUL.
    char name[sizeof(other.sun_path) + 1] = {0};
    memcpy(name, other.sun_path + (other.sun_path[0] == 0), sizeof(other.sun_path) - 1);
    return strstr(name, "/.X11-unix/X") != NULL || strstr(name, "/wayland-") != NULL;
}

static inline int clr_is_connected(int socket) {
    struct sockaddr_storage other;
    socklen_t length = sizeof(other);
    return getpeername(socket, (struct sockaddr *)&other, &length) == 0;
}

typedef struct clr_owner {
    int pidfd;
    pid_t pid;
} clr_owner;

static inline int clr_is_listener(const clr_owner *owner, int descriptor) {
    return clr_listens(owner->pidfd, owner->pid, descriptor) > 0;
}

// Whether a process has a second thread; for `cll_procfs_each` over its threads.
static inline int clr_visit_second_thread(unsigned tid, void *context) { return (pid_t)tid != *(const pid_t *)context; }
