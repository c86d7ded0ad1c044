#define _GNU_SOURCE
#include "stall_fixtures.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

int fixture_trace_attach(int pid) { return ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 ? 0 : errno; }

int fixture_trace_stop(int pid) {
    if (ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0) return errno;
    int status;
    while (waitpid(pid, &status, __WALL) < 0) {
        if (errno != EINTR) return errno;
    }
    return WIFSTOPPED(status) ? 0 : ECHILD;
}

int fixture_trace_detach(int pid) { return ptrace(PTRACE_DETACH, pid, 0, 0) == 0 ? 0 : errno; }

void fixture_trace_allow(void) { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }
