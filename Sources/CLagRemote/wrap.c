#define _GNU_SOURCE
#include "clr_wrap.h"
#include "clr_child.h"
#include "cll_procfs_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

enum { SIGNALS = 64 };

int clr_file_has_capabilities(const char *path) { return getxattr(path, "security.capability", NULL, 0) > 0; }

// Uses the kernel's own calls: glibc hides two signals, which it uses itself after the first thread starts; they are inherited like the others.
typedef struct clr_kernel_action {
    uint64_t handler, flags, restorer, mask;
} clr_kernel_action;

static int clr_is_ignored(int signal) {
    clr_kernel_action action = {0};
    return syscall(SYS_rt_sigaction, signal, NULL, &action, sizeof(uint64_t)) == 0 && action.handler == (uint64_t)(uintptr_t)SIG_IGN;
}

static void clr_set_ignored(int signal, int ignored) {
    clr_kernel_action action = {.handler = (uint64_t)(uintptr_t)(ignored ? SIG_IGN : SIG_DFL)};
    syscall(SYS_rt_sigaction, signal, &action, NULL, sizeof(uint64_t));
}

static void clr_save_descriptors(clr_signal_state *state) {
    DIR *folder = opendir("/proc/self/fd");
    // If the kernel does not list the descriptors, those that a library opens count as the command's.
    state->descriptors_end = folder == NULL ? UINT32_MAX : CLR_KEPT_DESCRIPTORS;
    if (folder == NULL) memset(state->descriptors, 0xff, sizeof(state->descriptors));
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
        unsigned number = (unsigned)atoi(entry->d_name);
        int flags = fcntl((int)number, F_GETFD);
        if (flags < 0 || (flags & FD_CLOEXEC) != 0) continue;
        if (number < CLR_KEPT_DESCRIPTORS) state->descriptors[number / 64] |= UINT64_C(1) << number % 64;
        else if (number >= state->descriptors_end) state->descriptors_end = number + 1;
    }
    if (folder != NULL) closedir(folder);
}

void clr_signal_state_save(clr_signal_state *state) {
    memset(state, 0, sizeof(*state));
    pthread_sigmask(SIG_BLOCK, NULL, &state->mask);
    for (int signal = 1; signal <= SIGNALS; signal++) {
        if (clr_is_ignored(signal)) state->ignored |= clr_signal_bit(signal);
    }
    clr_save_descriptors(state);
}

// Call it before exec, which then closes them, and only in the child, whose table is a copy.
static void clr_close_on_exec(unsigned first, unsigned last) {
    enum { CLOEXEC = 1 << 2 };
    // Linux 5.11.
    if (syscall(SYS_close_range, first, last, CLOEXEC) == 0) return;
    // Older kernels: as many as a library can have opened.
    if (last > 65535) last = 65535;
    for (unsigned number = first; number <= last; number++) {
        int flags = fcntl((int)number, F_GETFD);
        if (flags >= 0) fcntl((int)number, F_SETFD, flags | FD_CLOEXEC);
    }
}

static void clr_drop_descriptors(const clr_signal_state *state) {
    unsigned first = 3;
    for (unsigned number = 3; number < CLR_KEPT_DESCRIPTORS; number++) {
        if ((state->descriptors[number / 64] >> number % 64 & 1) == 0) continue;
        if (first < number) clr_close_on_exec(first, number - 1);
        first = number + 1;
    }
    if (first < CLR_KEPT_DESCRIPTORS && state->descriptors_end > CLR_KEPT_DESCRIPTORS) {
        clr_close_on_exec(first, CLR_KEPT_DESCRIPTORS - 1);
    }
    if (state->descriptors_end > CLR_KEPT_DESCRIPTORS || first == CLR_KEPT_DESCRIPTORS) first = state->descriptors_end;
    if (first < UINT32_MAX) clr_close_on_exec(first, UINT32_MAX);
}

// Variables that contain a process ID.
static const char *const clr_own_pid_variables[] = {"LISTEN_PID=", "WATCHDOG_PID="};
enum { OWN_PID_VARIABLES = 2, OWN_PID_BYTES = 32 };

// Entries of an environment that name this process, with space for another process ID.
typedef struct clr_own_pids {
    char **entries[OWN_PID_VARIABLES];
    char *before[OWN_PID_VARIABLES];
    char texts[OWN_PID_VARIABLES][OWN_PID_BYTES];
} clr_own_pids;

static void clr_find_own_pids(clr_own_pids *found, char **environment) {
    memset(found, 0, sizeof(*found));
    for (char **entry = environment; *entry != NULL; entry++) {
        for (int index = 0; index < OWN_PID_VARIABLES; index++) {
            const char *name = clr_own_pid_variables[index];
            if (strncmp(*entry, name, strlen(name)) == 0 && atoi(*entry + strlen(name)) == getpid()) {
                found->entries[index] = entry;
                found->before[index] = *entry;
            }
        }
    }
}

// Runs in the memory of its waiting parent: only changes to `error` may remain.
static void clr_wrap_become(
    const char *path, char *const *arguments, char **environment, const clr_signal_state *state, int own_session, clr_own_pids *own
) {
    for (int number = 1; number <= SIGNALS; number++) {
        int was_ignored = (state->ignored & clr_signal_bit(number)) != 0;
        if (clr_is_ignored(number) != was_ignored && (was_ignored || number != SIGKILL)) clr_set_ignored(number, was_ignored);
    }
    for (int index = 0; index < OWN_PID_VARIABLES; index++) {
        if (own->entries[index] == NULL) continue;
        strcpy(own->texts[index], clr_own_pid_variables[index]);
        *cll_append_number(own->texts[index] + strlen(own->texts[index]), (unsigned)getpid()) = 0;
        *own->entries[index] = own->texts[index];
    }
    if (own_session) setsid();
    clr_drop_descriptors(state);
    pthread_sigmask(SIG_SETMASK, &state->mask, NULL);
    execve(path, arguments, environment);
}

// MARK: Children

// Processes that were started here and not yet waited for: all others that exit as children of process 1 are orphans. A fixed number, enough for
// all targets; beyond it no orphans are reaped.
enum { STARTED = 1024 };
static pid_t started[STARTED];
static int is_full;
static pthread_mutex_t started_lock = PTHREAD_MUTEX_INITIALIZER;

// Call it with the lock held.
static void clr_replace_started(pid_t from, pid_t to) {
    for (int index = 0; index < STARTED; index++) {
        if (started[index] != from) continue;
        started[index] = to;
        return;
    }
    if (to != 0) is_full = 1;
}

static int clr_is_started(pid_t pid) {
    for (int index = 0; index < STARTED; index++) {
        if (started[index] == pid) return 1;
    }
    return 0;
}

static int clr_wait(idtype_t type, id_t id, siginfo_t *info, int flags) {
    memset(info, 0, sizeof(*info));
    int result;
    do result = waitid(type, id, info, flags | WNOHANG);
    while (result < 0 && errno == EINTR);
    return result;
}

// The next change of a child's state, without consuming it. A stop that a tracer of this process has requested is reported before everything else, whatever
// the options are, and is left for the tracer (trap.c): the changes behind it appear when it is over, mostly after some 100 us.
static int clr_see_change(idtype_t type, id_t id, siginfo_t *info, int flags) {
    enum { POLLS = 500, POLL_NS = 200000 };
    for (int polls = 0; polls < POLLS; polls++) {
        if (clr_wait(type, id, info, flags | WNOWAIT) != 0) return -1;
        if (info->si_code != CLD_TRAPPED) return 0;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    info->si_pid = 0;
    return 0;
}

void clr_wrap_reap_orphans(void) {
    if (getpid() != 1) return;
    pthread_mutex_lock(&started_lock);
    while (!is_full) {
        siginfo_t info;
        if (clr_see_change(P_ALL, 0, &info, WEXITED) != 0 || info.si_pid == 0) break;
        // Its own supervisor handles it first; then this is called again.
        if (clr_is_started(info.si_pid)) break;
        clr_wait(P_PID, (id_t)info.si_pid, &info, WEXITED);
    }
    pthread_mutex_unlock(&started_lock);
}

int clr_wrap_start(
    const char *path, char *const *arguments, char **environment, const clr_signal_state *state, int own_session, pid_t *pid,
    int *pidfd
) {
    clr_own_pids own;
    clr_find_own_pids(&own, environment);
    sigset_t all, before;
    sigfillset(&all);
    // None of our handlers may run in the child while it shares this memory.
    pthread_sigmask(SIG_SETMASK, &all, &before);
    volatile int error = 0;
    pthread_mutex_lock(&started_lock);
    pid_t child = vfork();
    if (child == 0) {
        clr_wrap_become(path, arguments, environment, state, own_session, &own);
        error = errno;
        _exit(127);
    }
    if (child < 0) error = errno;
    // The child changed our memory.
    for (int index = 0; index < OWN_PID_VARIABLES; index++) {
        if (own.entries[index] != NULL) *own.entries[index] = own.before[index];
    }
    if (child > 0 && error != 0) {
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
    }
    if (error == 0) clr_replace_started(0, child);
    pthread_mutex_unlock(&started_lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) return error;
    *pid = child;
    // If a container forbids it, the process ID is used: it stays valid until the child is waited for, which happens only here.
    *pidfd = clr_pidfd_open(child);
    return 0;
}

enum { CHANGES = WEXITED | WSTOPPED | WCONTINUED };

static idtype_t clr_child_type(int pidfd) {
    enum { WAIT_BY_PIDFD = 3 };
    return pidfd >= 0 ? (idtype_t)WAIT_BY_PIDFD : P_PID;
}

// The signals by which a terminal stops a job, as bits.
static uint64_t clr_terminal_stops(void) { return clr_signal_bit(SIGTSTP) | clr_signal_bit(SIGTTIN) | clr_signal_bit(SIGTTOU); }

int clr_wrap_has_terminal_stop(pid_t pid) {
    uint64_t pending = 0;
    if (pid == 0) {
        if (syscall(SYS_rt_sigpending, &pending, sizeof(pending)) != 0) return 0;
    } else {
        cll_thread_status status;
        if (cll_procfs_status(pid, 0, &status) != 0) return 0;
        pending = status.pending_signals;
    }
    return (pending & clr_terminal_stops()) != 0;
}

int clr_wrap_has_later_change(pid_t pid, int pidfd) {
    siginfo_t info;
    if (clr_see_change(clr_child_type(pidfd), (id_t)(pidfd >= 0 ? pidfd : pid), &info, CHANGES) != 0 || info.si_pid == 0) return 0;
    // The terminal stops the whole group, and a SIGCONT cancels a pending stop of its receiver.
    int is_terminal_stop = info.si_code == CLD_STOPPED && (clr_signal_bit(info.si_status) & clr_terminal_stops()) != 0;
    if (is_terminal_stop) return clr_wrap_has_terminal_stop(0);
    return 1;
}

int clr_wrap_change(pid_t pid, int pidfd, int *value) {
    siginfo_t info;
    const idtype_t type = clr_child_type(pidfd);
    const id_t id = (id_t)(pidfd >= 0 ? pidfd : pid);
    if (clr_see_change(type, id, &info, CHANGES) != 0) return -1;
    if (info.si_pid == 0) return CLR_CHANGE_NONE;
    if (clr_wait(type, id, &info, CHANGES) != 0) return -1;
    *value = info.si_status;
    if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) {
        pthread_mutex_lock(&started_lock);
        clr_replace_started(pid, 0);
        pthread_mutex_unlock(&started_lock);
    }
    switch (info.si_code) {
        case CLD_EXITED: return CLR_CHANGE_EXITED;
        case CLD_KILLED:
        case CLD_DUMPED: return CLR_CHANGE_KILLED;
        case CLD_STOPPED: return CLR_CHANGE_STOPPED;
        // A tracer's stop that happened between the two calls. There may be more changes.
        case CLD_TRAPPED:
        case CLD_CONTINUED: return CLR_CHANGE_CONTINUED;
        default: return CLR_CHANGE_NONE;
    }
}
