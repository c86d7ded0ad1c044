#define _GNU_SOURCE
#include "clr_thread_sample.h"

#include "cll_memory.h"
#include "cll_procfs_text.h"
#include "stable_hash.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

static int clr_open_of_thread(pid_t pid, pid_t tid, const char *name) {
    char path[96] = "/proc/";
    char *out = cll_append_number(path + 6, (unsigned)pid);
    memcpy(out, "/task/", 6);
    out = cll_append_number(out + 6, (unsigned)tid);
    *out++ = '/';
    strcpy(out, name);
    return open(path, O_RDONLY | O_CLOEXEC);
}

int clr_thread_files_open(pid_t pid, pid_t tid, clr_thread_files *files) {
    *files = (clr_thread_files){.syscall_fd = clr_open_of_thread(pid, tid, "syscall"), .schedstat_fd = -1};
    int error = files->syscall_fd < 0 ? errno : 0;
    if (error == 0) {
        files->schedstat_fd = clr_open_of_thread(pid, tid, "schedstat");
        if (files->schedstat_fd < 0) error = errno;
    }
    clr_thread_sample sample;
    // The kernel checks the permission at each read.
    if (error == 0) error = clr_thread_files_sample(files, &sample);
    if (error != 0) clr_thread_files_close(files);
    return error == ENOENT ? ESRCH : error;
}

void clr_thread_files_close(clr_thread_files *files) {
    if (files->syscall_fd >= 0) close(files->syscall_fd);
    if (files->schedstat_fd >= 0) close(files->schedstat_fd);
    *files = (clr_thread_files){.syscall_fd = -1, .schedstat_fd = -1};
}

static int clr_read_again(int fd, char *text, size_t size) {
    ssize_t length;
    do length = pread(fd, text, size - 1, 0);
    while (length < 0 && errno == EINTR);
    if (length < 0) return errno;
    text[length] = 0;
    return 0;
}

int clr_thread_files_sample(const clr_thread_files *files, clr_thread_sample *sample) {
    char text[256];
    int error = clr_read_again(files->schedstat_fd, text, sizeof(text));
    if (error != 0) return error;
    const char *at = text;
    sample->cpu_ns = cll_parse_number(&at, 10);
    sample->delay_ns = cll_parse_number(&at, 10);
    sample->runs = cll_parse_number(&at, 10);
    error = clr_read_again(files->syscall_fd, text, sizeof(text));
    if (error != 0) return error;
    // An exited thread that was not yet waited for no longer has memory.
    if (text[0] == 0) return ESRCH;
    int state = cll_parse_syscall(text, &sample->call);
    if (state < 0) return -state;
    sample->state = state;
    return 0;
}

clr_wait_results clr_results_of_wait(const cll_thread_syscall *call) {
    // The size of an event depends on the architecture: x86-64 packs it.
    enum { MOST = 1024, OF_EVENT = sizeof(struct epoll_event), OF_POLLFD = sizeof(struct pollfd) };
    uint64_t length = 0;
    uint64_t address = call->arguments[1];
    switch (clr_wait_kind(call->number)) {
        case CLR_WAIT_EPOLL: length = call->arguments[2] * OF_EVENT; break;
        case CLR_WAIT_POLL:
            address = call->arguments[0];
            length = call->arguments[1] * OF_POLLFD;
            break;
        case CLR_WAIT_SELECT: length = call->arguments[0] / 8 + 1; break;
        default: break;
    }
    if (address == 0) length = 0;
    return (clr_wait_results){.address = address, .length = (uint32_t)(length < MOST ? length : MOST)};
}

uint64_t clr_read_results(pid_t pid, clr_wait_results results) {
    char bytes[1024];
    size_t length = cll_memory_read(pid, results.address, bytes, results.length);
    return length == 0 ? 0 : clr_stable_hash(bytes, length);
}
