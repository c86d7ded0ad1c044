// Finds out by trying whether a process may be traced.
#define _GNU_SOURCE
#include "clr_trace.h"

#include <pthread.h>
#include <sys/ptrace.h>

#include "cll_procfs.h"
#include "cll_procfs_text.h"

typedef struct {
    pid_t pid;
    int may;
} clr_trial;

// The exit of the thread releases it.
static void *clr_try_to_seize(void *context) {
    clr_trial *trial = context;
    trial->may = ptrace(PTRACE_SEIZE, trial->pid, NULL, NULL) == 0;
    return NULL;
}

int clr_tracer_may_seize(pid_t pid) {
    char text[4096];
    long length = cll_procfs_read(pid, 0, "status", text, sizeof(text));
    const char *holder = length > 0 ? cll_status_field(text, "\nTracerPid:\t") : NULL;
    if (holder != NULL && *holder != '0') return 1;
    clr_trial trial = {.pid = pid};
    pthread_t thread;
    if (pthread_create(&thread, NULL, clr_try_to_seize, &trial) != 0) return 1;
    pthread_join(thread, NULL);
    return trial.may;
}
