// A listening socket without a name in the file system.
#define _GNU_SOURCE
#include "probes.h"
#include <sys/wait.h>
#include <unistd.h>

int listen_here(struct sockaddr_un *address, int backlog) {
    socklen_t length = sizeof(*address);
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    // If no name is given, the kernel assigns one of five hexadecimal digits after a NUL (unix(7), autobind).
    if (bind(listener, (struct sockaddr *)address, sizeof(sa_family_t)) != 0 || listen(listener, backlog) != 0
        || getsockname(listener, (struct sockaddr *)address, &length) != 0 || length != LISTENING_NAME_BYTES)
        _exit(3);
    return listener;
}

int connect_there(const struct sockaddr_un *address) {
    int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(client, (const struct sockaddr *)address, LISTENING_NAME_BYTES) != 0) _exit(3);
    return client;
}

int accept_after(int listener, const struct sockaddr_un *address, int milliseconds) {
    pid_t client = fork();
    if (client == 0) {
        usleep((useconds_t)milliseconds * 1000);
        connect_there(address);
        _exit(0);
    }
    int connection = accept(listener, NULL, NULL);
    if (connection < 0) _exit(5);
    waitpid(client, NULL, 0);
    return connection;
}

int listen_with(int clients) {
    struct sockaddr_un address;
    int listener = listen_here(&address, clients);
    for (int i = 0; i < clients; i++) connect_there(&address);
    return listener;
}
