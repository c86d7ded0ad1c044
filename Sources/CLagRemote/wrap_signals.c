// The signals of a command that runs in this process's place.
#define _GNU_SOURCE
#include "clr_child.h"
#include "clr_wrap.h"

#include <errno.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void clr_wrap_set(sigset_t *set) {
    static const int left_alone[] = {
        SIGKILL, SIGSTOP, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF, SIGPIPE, SIGXCPU, SIGXFSZ,
    };
    sigfillset(set);
    for (size_t index = 0; index < sizeof(left_alone) / sizeof(left_alone[0]); index++) sigdelset(set, left_alone[index]);
}

void clr_wrap_block(void) {
    sigset_t set;
    clr_wrap_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    // A file size limit, which the command inherits, then gives an error for our own writes instead of a signal.
    signal(SIGXFSZ, SIG_IGN);
    // The parent may have ignored it; then a child's exit would not be reported.
    signal(SIGCHLD, SIG_DFL);
}

static clr_signal_event clr_event_of(const siginfo_t *info) {
    return (clr_signal_event){
        .signal = info->si_signo,
        .code = info->si_code,
        .sender = info->si_code == SI_USER || info->si_code == SI_QUEUE || info->si_code == SI_TKILL ? info->si_pid : 0,
        .has_value = info->si_code == SI_QUEUE,
        .value = info->si_code == SI_QUEUE ? (uint64_t)(uintptr_t)info->si_value.sival_ptr : 0,
    };
}

void clr_wrap_wait(clr_signal_event *event) {
    sigset_t set;
    clr_wrap_set(&set);
    siginfo_t info;
    while (sigwaitinfo(&set, &info) < 0) continue;
    *event = clr_event_of(&info);
}

int clr_wrap_wait_for(clr_signal_event *event, int64_t nanoseconds) {
    sigset_t set;
    clr_wrap_set(&set);
    siginfo_t info;
    struct timespec time = {.tv_sec = nanoseconds / 1000000000, .tv_nsec = nanoseconds % 1000000000};
    if (sigtimedwait(&set, &info, &time) < 0) return 0;
    *event = clr_event_of(&info);
    return 1;
}

int clr_wrap_send(pid_t pid, int pidfd, int signal) {
    if (pidfd >= 0 && clr_pidfd_kill(pidfd, signal) == 0) return 0;
    // Forbidden or unknown: uses the process ID.
    return pidfd < 0 || errno == ENOSYS || errno == EPERM ? kill(pid, signal) : -1;
}

int clr_wrap_forward(pid_t pid, int pidfd, const clr_signal_event *event) {
    if (!event->has_value) return clr_wrap_send(pid, pidfd, event->signal);
    siginfo_t info = {0};
    info.si_signo = event->signal;
    info.si_code = SI_QUEUE;
    info.si_pid = event->sender;
    info.si_uid = getuid();
    info.si_value.sival_ptr = (void *)(uintptr_t)event->value;
    if (pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, event->signal, &info, 0) == 0) return 0;
    return pidfd < 0 || errno == ENOSYS || errno == EPERM ? (int)syscall(SYS_rt_sigqueueinfo, pid, event->signal, &info) : -1;
}

static volatile sig_atomic_t continued;

static void clr_record_continued(int signal) { continued++; }

int clr_wrap_stop_by(int signal, const clr_signal_state *state) {
    sigset_t one, before;
    sigemptyset(&one);
    sigaddset(&one, signal);
    if (signal == SIGSTOP || (state->ignored & clr_signal_bit(signal)) != 0) {
        raise(SIGSTOP);
        return 1;
    }
    struct sigaction counting = {.sa_handler = clr_record_continued}, ordinary;
    sigaction(SIGCONT, &counting, &ordinary);
    continued = 0;
    // A signal that is already pending has had its effect.
    struct timespec now = {0};
    while (sigtimedwait(&one, NULL, &now) > 0) continue;
    pthread_kill(pthread_self(), signal);
    // Before the mask is restored, another such signal may stop us again: each stop ends with its own SIGCONT.
    sigaddset(&one, SIGCONT);
    pthread_sigmask(SIG_UNBLOCK, &one, &before);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    sigaction(SIGCONT, &ordinary, NULL);
    return continued;
}

_Noreturn void clr_wrap_die_by(int number) {
    struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    setrlimit(RLIMIT_CORE, &none);
    signal(number, SIG_DFL);
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    kill(getpid(), number);
    pthread_sigmask(SIG_UNBLOCK, &one, NULL);
    _exit(128 + number);
}
