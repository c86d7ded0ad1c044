// Programs that forbid themselves all system calls except those that they know.
#define _GNU_SOURCE
#include "probes.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Where the C library cannot call `poll` (aarch64), it calls `ppoll`.
#ifdef SYS_poll
#define SYS_WAIT SYS_poll
#else
#define SYS_WAIT SYS_ppoll
#endif
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int run_sandboxed(int count, char **arguments) {
    struct pollfd ends[2] = {{.fd = eventfd(0, 0), .events = POLLIN}, {.fd = eventfd(0, 0), .events = POLLIN}};
    const char *when = count > 1 ? arguments[1] : "";
    int is_prctl = count > 2 && strcmp(arguments[2], "prctl") == 0;
    // It is a loop already.
    for (int turns = 0; strcmp(when, "late") == 0 && turns < 20; turns++) poll(ends, 2, 60);
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_WAIT), ALLOW(SYS_write), ALLOW(SYS_exit_group), ALLOW(SYS_clock_gettime),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_fprog filter = {.len = sizeof(code) / sizeof(code[0]), .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return 1;
    long error = is_prctl ? prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
    if (error != 0) return 2;
    // Never: only tests whether the machine allows the filter.
    for (int turns = 0; strcmp(when, "never") != 0 && turns < 30; turns++) poll(ends, 2, 60);
    if (write(STDOUT_FILENO, "done\n", 5) != 5) _exit(3);
    _exit(0);
}
