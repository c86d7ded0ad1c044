// A master at rest, and its worker, which has dropped its privileges and writes into the shared loop table that the master hangs.
#define _GNU_SOURCE
#include "probes.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../../Sources/CLagBeacon/include/clb_loop_table.h"

static void claim(clb_loop_table *table, uint32_t index, uint32_t kind, pid_t process, int32_t epoll) {
    clb_loop_table_slot *slot = clb_loop_table_slot_at(table, index);
    memset(slot, 0, sizeof(*slot));
    slot->kind = kind;
    slot->pid = slot->tid = process;
    slot->wait_object = epoll + 1;
    slot->wait_sp = UINT64_MAX;
    strcpy(slot->name, "forged");
    slot->beacon.callout_ns = slot->beacon.woke_ns = slot->claimed_ns = clb_now_ns();
    slot->beacon.word = UINT64_C(77) << 8 | CLB_ACTIVITY_AFTER_WAITING;
    uint64_t word = UINT64_C(9) << 40 | (uint64_t)CLB_SLOT_LIVE << 32 | (uint32_t)process;
    __atomic_store_n(clb_loop_table_claim_word(table, index), word, __ATOMIC_RELEASE);
}

// forge KIND [stay]: the worker exits at once unless it must stay. The master exits on SIGUSR2, and with 7 after some seconds.
int run_forge(int count, char **arguments) {
    const char *path = getenv(CLB_LOOP_TABLE_VARIABLE);
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    if (count < 2 || file < 0 || fstat(file, &status) != 0) return 3;
    clb_loop_table *table = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (table == MAP_FAILED) return 4;
    // A descriptor that is always ready and that the master does not wait for: an old connection that its peer has closed.
    int ends[2], epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN};
    if (pipe(ends) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) != 0 || write(ends[1], "x", 1) != 1) return 5;
    int more[2];
    if (pipe(more) != 0 || epoll_ctl(epoll, EPOLL_CTL_ADD, more[0], &event) != 0) return 5;
    pid_t master = getpid(), worker = fork();
    if (worker == 0) {
        if (setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(6);
        claim(table, 200, (uint32_t)atoi(arguments[1]), master, epoll);
        clb_waker *waker = clb_loop_table_waker(table);
        __atomic_fetch_add(&waker->posts, 1, __ATOMIC_SEQ_CST);
        syscall(SYS_futex, &waker->posts, FUTEX_WAKE, 1, NULL, NULL, 0);
        for (int seconds = 0; seconds < 30 && getppid() == master; seconds++) sleep(1);
        _exit(0);
    }
    signal(SIGUSR2, SIG_DFL);
    printf("forged\n");
    fflush(stdout);
    // Not what a loop does; and not a call in which a thread waits for work.
    for (int tenths = 0; tenths < 60; tenths++) usleep(100000);
    kill(worker, SIGKILL);
    waitpid(worker, NULL, 0);
    return 7;
}
