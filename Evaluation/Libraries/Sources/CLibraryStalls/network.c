// Waiting for the network, only on loopback.
#include "tables.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

static int pair[2] = {-1, -1}, listener, listener_port, file;
static char buffer[1 << 16];

static struct sockaddr_in loopback(int port) {
    return (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
}

static const char *make_pair(void) {
    return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0 ? NULL : failed("socketpair");
}

static const char *make_listener(void) {
    listener = loopback_listener(8, &listener_port);
    return listener < 0 ? failed("listen") : NULL;
}

static int send_answer(void *unused) { return (int)send(pair[1], "answer", 6, MSG_NOSIGNAL); }
static void answer_late(moment end) { act_at(end, "answerer", send_answer, NULL); }

static int drain(void *unused) {
    static char drained[1 << 16];
    while (read(pair[1], drained, sizeof drained) > 0) {}
    return 0;
}

static void drain_late(moment end) { act_at(end, "drainer", drain, NULL); }

static int call(void *unused) {
    struct sockaddr_in address = loopback(listener_port);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(client, (struct sockaddr *)&address, sizeof address);
}

static void call_late(moment end) { act_at(end, "caller", call, NULL); }

static const char *make_nameserver(void) {
    char path[64], text[] = "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n";
    int settings = scratch_file(0, path);
    if (settings < 0 || write(settings, text, sizeof text - 1) < 0) return failed("/var/tmp");
    const char *reason = NULL;
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    struct sockaddr_in address = loopback(53);
    int server;
    if (unshare(CLONE_NEWNS | CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER)) != 0) reason = failed("separate namespaces");
    else if ((server = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) < 0 || ioctl(server, SIOCSIFFLAGS, &request) != 0)
        reason = failed("loopback in a separate namespace");
    else if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 || mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) != 0)
        reason = failed("a mount in a separate namespace");
    else if (bind(server, (struct sockaddr *)&address, sizeof address) != 0) reason = failed("bind to port 53");
    unlink(path);
    return reason;
}

static const char *fill_backlog(void) {
    listener = loopback_listener(0, &listener_port);
    if (listener < 0) return failed("listen");
    struct sockaddr_in address = loopback(listener_port);
    for (int filler = 0; filler < 4; filler++) {
        connect(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), (struct sockaddr *)&address, sizeof address);
    }
    usleep(20000);
    return NULL;
}

static const char *make_pair_and_file(void) {
    file = scratch_file(8 << 20, NULL);
    return file < 0 ? failed("/var/tmp") : make_pair();
}

static int feed(void *unused) {
    for (int part = 0; part < 100; part++) {
        if (write(pair[1], "some", 4) != 4) break;
        usleep(6000);
    }
    return shutdown(pair[1], SHUT_WR);
}

static void feed_slowly(moment end) { act_at(moment_now(), "feeder", feed, NULL); }

static const char *make_slow_pipe(void) { return make_pair(); }

int look_up_mirror(moment end) {
    struct addrinfo *found = NULL;
    int code = getaddrinfo("mirror.example.", "443", NULL, &found);
    if (code == 0) freeaddrinfo(found);
    return code;
}

int look_up_peer(moment end) {
    struct hostent *found = gethostbyname("peer.example.");
    return found ? found->h_length : -h_errno;
}

int dial_backend(moment end) {
    struct sockaddr_in address = loopback(listener_port);
    int client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval limit = {0, (suseconds_t)((end - moment_now()) / 1000)};
    setsockopt(client, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    int code = connect(client, (struct sockaddr *)&address, sizeof address);
    close(client);
    return code;
}

int greet_visitor(moment end) {
    int client = accept(listener, NULL, NULL);
    close(client);
    return client;
}

int receive_reply(moment end) {
    ssize_t count = recv(pair[0], buffer, sizeof buffer, 0);
    return (int)count + buffer[0];
}

int peek_at_reply(moment end) {
    struct iovec parts[2] = {{buffer, 2}, {buffer + 8, 8}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t count = recvmsg(pair[0], &message, MSG_PEEK);
    return (int)count + buffer[0];
}

int wait_for_reply(moment end) {
    struct pollfd entry = {pair[0], POLLIN, 0};
    int count = poll(&entry, 1, 10000);
    return count + entry.revents;
}

int wait_with_select(moment end) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    int count = select(pair[0] + 1, &set, NULL, NULL, NULL);
    return count + FD_ISSET(pair[0], &set);
}

int run_inner_loop(moment end) {
    struct epoll_event event = {.events = EPOLLIN};
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
    int count = epoll_wait(epoll, &event, 1, -1);
    close(epoll);
    return count;
}

int upload_file(moment end) {
    off_t offset = 0;
    ssize_t count = sendfile(pair[0], file, &offset, 8 << 20);
    shutdown(pair[0], SHUT_WR);
    return (int)count;
}

int forward_stream(moment end) {
    int ends[2], total = 0;
    ssize_t count;
    if (pipe2(ends, O_CLOEXEC) != 0) return -1;
    while ((count = splice(pair[0], NULL, ends[1], NULL, 4096, 0)) > 0) total += (int)read(ends[0], buffer, sizeof buffer);
    close(ends[0]);
    close(ends[1]);
    return total;
}

int collect_parts(moment end) {
    int total = 0;
    ssize_t count;
    struct iovec parts[2] = {{buffer, 2}, {buffer + 8, 2}};
    while ((count = readv(pair[0], parts, 2)) > 0) total += (int)count;
    return total;
}

const struct stall network_stalls[] = {
    {"getaddrinfo-silent", "syscall", "look_up_mirror", NULL, NULL, "a name server that never responds", make_nameserver, NULL,
     look_up_mirror},
    {"gethostbyname-silent", "syscall", "look_up_peer", NULL, NULL, "the old function, with a name server that never responds",
     make_nameserver, NULL, look_up_peer},
    {"connect-full-backlog", "syscall", "dial_backend", NULL, NULL, "connect to a listener whose backlog is full", fill_backlog,
     NULL, dial_backend},
    {"accept", "syscall", "greet_visitor", NULL, NULL, "accept with a client that connects late", make_listener, call_late,
     greet_visitor},
    {"recv", "syscall", "receive_reply", NULL, NULL, "recv with a response that arrives late", make_pair, answer_late, receive_reply},
    {"recvmsg", "syscall", "peek_at_reply", NULL, NULL, "recvmsg into two parts", make_pair, answer_late, peek_at_reply},
    {"poll", "syscall", "wait_for_reply", NULL, NULL, "poll on a socket", make_pair, answer_late, wait_for_reply},
    {"select", "syscall", "wait_with_select", NULL, NULL, "select on a socket", make_pair, answer_late, wait_with_select},
    {"epoll-inner-loop", "syscall", "run_inner_loop", NULL, NULL, "an inner loop inside the callout", make_pair, answer_late,
     run_inner_loop},
    {"sendfile", "syscall", "upload_file", NULL, NULL, "sendfile to a peer that does not read yet", make_pair_and_file,
     drain_late, upload_file},
    {"splice", "syscall", "forward_stream", NULL, NULL, "splice of data that arrives in small parts", make_slow_pipe, feed_slowly,
     forward_stream},
    {"readv-slow", "syscall", "collect_parts", NULL, NULL, "readv of data that arrives in small parts", make_slow_pipe, feed_slowly,
     collect_parts},
    {0},
};
