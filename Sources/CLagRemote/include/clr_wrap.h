// A command that runs in this process's place: started with the original signal state, receiving the signals of this process, which imitates the command's end.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

// Whether a program gains capabilities from its file (capabilities(7)).
int clr_file_has_capabilities(const char *path);

// The state that this process was started with, recorded before it changes anything: exec passes it on.
enum { CLR_KEPT_DESCRIPTORS = 1024 };

typedef struct clr_signal_state {
    sigset_t mask;
    uint64_t ignored;  // of clr_signal_bit
    // The descriptors that exec would have passed on: bit n of all words is number n. From CLR_KEPT_DESCRIPTORS up to descriptors_end (not
    // included) all count as inherited.
    uint64_t descriptors[CLR_KEPT_DESCRIPTORS / 64];
    uint32_t descriptors_end;
} clr_signal_state;

static inline uint64_t clr_signal_bit(int signal) { return UINT64_C(1) << (signal - 1); }

void clr_signal_state_save(clr_signal_state *state);
// Blocks the signals that clr_wrap_wait waits for in the calling thread, and in those that it starts from then on: every signal
// that others may send to a program, except those that report a fault, SIGPROF (used by profilers, including ours) and SIGPIPE, which is ignored.
void clr_wrap_block(void);

// Starts the program at `path` with `state`'s mask, dispositions and descriptors: it gets none that were opened later, by any library.
// In this process's group and session, or as the leader of its own, without a terminal. `environment` is changed:
// LISTEN_PID (sd_listen_fds(3)) and WATCHDOG_PID (sd_watchdog_enabled(3)) get the child's process ID if they name this process.
// `pidfd` is close-on-exec, and -1 if the kernel or a filter has none; then the functions below identify the child by its process ID, which is valid until
// clr_wrap_change has reaped it. 0, or the errno of execve or vfork.
int clr_wrap_start(
    const char *path, char *const *arguments, char **environment, const clr_signal_state *state, int own_session, pid_t *pid,
    int *pidfd
);

enum {
    CLR_CHANGE_NONE = 0,
    CLR_CHANGE_EXITED = 1,     // `value` is the exit status
    CLR_CHANGE_KILLED = 2,     // `value` is the signal
    CLR_CHANGE_STOPPED = 3,    // `value` is the signal
    CLR_CHANGE_CONTINUED = 4,
};
// The change of the child's state since the last call; never blocks. A CLR_CHANGE_…, or -1 and errno.
int clr_wrap_change(pid_t pid, int pidfd, int *value);
// Whether there is an unreported change from after this process was continued; it stays unreported.
int clr_wrap_has_later_change(pid_t pid, int pidfd);
// Whether a stop from the terminal is pending for a process; 0: this one.
int clr_wrap_has_terminal_stop(pid_t pid);
// As process 1 of a PID namespace: reaps orphans, which the kernel makes our children. Otherwise no effect. Any thread; call it after
// SIGCHLD, when the processes that were started here have been reaped.
void clr_wrap_reap_orphans(void);

typedef struct clr_signal_event {
    int32_t signal;
    int32_t code;      // si_code: CLR_SIGNAL_OF_KERNEL, CLR_SIGNAL_OF_PROCESS, …
    int32_t sender;    // process ID of its sender, if a process sent it
    int32_t has_value;
    uint64_t value;    // of sigqueue(3)
} clr_signal_event;

enum { CLR_SIGNAL_OF_KERNEL = SI_KERNEL, CLR_SIGNAL_OF_PROCESS = SI_USER, CLR_SIGNAL_QUEUED = SI_QUEUE, CLR_SIGNAL_OF_THREAD = SI_TKILL };

// Waits for one of the signals of clr_wrap_block, or for SIGCHLD.
void clr_wrap_wait(clr_signal_event *event);
// The same with a time limit. Returns whether one arrived.
int clr_wrap_wait_for(clr_signal_event *event, int64_t nanoseconds);
// Forwards a received signal to the child, with its value. 0, or -1 and errno.
int clr_wrap_forward(pid_t pid, int pidfd, const clr_signal_event *event);
// Sends a signal to the child. 0, or -1 and errno.
int clr_wrap_send(pid_t pid, int pidfd, int signal);

// Stops this process with that signal's default effect, so that a shell sees it; returns when it is continued. Uses SIGSTOP if that
// signal was ignored from the start. Returns how often it was continued: more than once if it was stopped again at once.
int clr_wrap_stop_by(int signal, const clr_signal_state *state);

// Ends this process with that signal, without writing a core.
_Noreturn void clr_wrap_die_by(int signal);
