// A container's filter, for tests of programs that run below one.
#define _GNU_SOURCE
#include "probes.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int run_denied(int count, char **arguments) {
    enum { MOST = 16 };
    struct sock_filter code[2 * MOST + 2];
    unsigned short length = 0;
    code[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    const unsigned error = count > 1 ? (unsigned)atoi(arguments[1]) : 1;
    int index = 2;
    for (; index < count && strcmp(arguments[index], "--") != 0 && index < MOST; index++) {
        code[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)atoi(arguments[index]), 0, 1);
        code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    code[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog filter = {.len = length, .filter = code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("seccomp");
        return 1;
    }
    if (index + 1 >= count) return 64;
    execv(arguments[index + 1], arguments + index + 1);
    perror(arguments[index + 1]);
    return 127;
}
