// A process that writes nonsense over the waker of the shared loop table, and a sibling that only waits and stalls.
#define _GNU_SOURCE
#include "probes.h"

#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

// The place of the waker in clb_loop_table, in words of 32 bits.
enum { WAKER_WORD = 32, WAKER_WORDS = 4 };

__attribute__((noinline)) static void honest_stall(void) { usleep(400000); }

// Nothing ever arrives.
static void wait_often(void) {
    static int ends[4];
    if (ends[0] == 0 && (pipe(ends) != 0 || pipe(ends + 2) != 0)) _exit(3);
    struct pollfd some[2] = {{.fd = ends[0], .events = POLLIN}, {.fd = ends[2], .events = POLLIN}};
    for (int waits = 0; waits < 20; waits++) poll(some, 2, 30);
}

static int run_honest(void) {
    for (int stalls = 0; stalls < 3; stalls++) {
        wait_often();
        honest_stall();
    }
    wait_often();
    return 0;
}

int run_hostile(int count, char **arguments) {
    if (count > 1) return run_honest();
    const char *path = getenv("LAGMONITOR_LOOP_TABLE");
    int fd = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) return 3;
    uint32_t *words = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED) return 4;
    pid_t honest = fork();
    // The same program again, so that it is watched like any other.
    if (honest == 0) {
        execl("/proc/self/exe", "ForeignProbe", arguments[0], "honest", (char *)NULL);
        _exit(127);
    }
    int ended = 0, result = 1;
    srand(7);
    while (!ended) {
        for (int writes = 0; writes < 1000; writes++) {
            uint32_t word = (uint32_t)rand();
            words[WAKER_WORD + rand() % WAKER_WORDS] = writes % 2 ? word : word % 5;
        }
        usleep(1000);
        ended = waitpid(honest, &result, WNOHANG) == honest;
    }
    return WIFEXITED(result) ? WEXITSTATUS(result) : 5;
}
