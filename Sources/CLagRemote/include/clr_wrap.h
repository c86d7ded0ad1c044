// A command run in one's place: started with the signals as they came, passed the signals that this process gets, and imitated in its end.
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

// Whether a program gains capabilities by its file (capabilities(7)).
int clr_file_has_capabilities(const char *path);

// What this process was started with, taken before it changes anything: exec hands it on.
enum { CLR_KEPT_DESCRIPTORS = 1024 };

typedef struct clr_signal_state {
    sigset_t mask;
    uint64_t ignored;  // of clr_signal_bit
    // The descriptors that exec would have handed on: bit n of all words is number n. From CLR_KEPT_DESCRIPTORS up to here (not
    // included) all count as such.
    uint64_t descriptors[CLR_KEPT_DESCRIPTORS / 64];
    uint32_t descriptors_end;
} clr_signal_state;

static inline uint64_t clr_signal_bit(int signal) { return UINT64_C(1) << (signal - 1); }

void clr_signal_state_save(clr_signal_state *state);
// Blocks what is to be waited for by clr_wrap_wait in the calling thread, and in those that it starts from then on: every signal
// that others may send to a program, but for those that report a fault, SIGPROF (profilers', ours too) and SIGPIPE, which is ignored.
void clr_wrap_block(void);

// Starts the program at `path` with `state`'s mask, dispositions and descriptors: of those that were opened since, by whatever library,
// it gets none. In this process's group and session, or as the leader of its own, without a terminal. `environment` is changed:
// LISTEN_PID (sd_listen_fds(3)) and WATCHDOG_PID (sd_watchdog_enabled(3)), where they name this process, get the child's number.
// `pidfd` is close-on-exec, and -1 where the kernel or a filter has none; below, the number then identifies the child, which is right until
// its end was taken by clr_wrap_change. 0, or the errno of execve or vfork.
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
// What became of the child since it was last asked; never blocks. A CLR_CHANGE_…, or -1 and errno.
int clr_wrap_change(pid_t pid, int pidfd, int *value);
// Whether there is a change that was not taken yet, and is none from before this process was continued: it stays.
int clr_wrap_has_later_change(pid_t pid, int pidfd);
// Whether a stop from the terminal waits to be taken by a process; 0: this one.
int clr_wrap_has_terminal_stop(pid_t pid);
// As process 1 of a PID namespace: takes the ends of processes whose parents have ended before them, which the kernel makes ours. Elsewhere
// nothing. Any thread; call it after SIGCHLD, when the ends of what was started here have been taken.
void clr_wrap_reap_orphans(void);

typedef struct clr_signal_event {
    int32_t signal;
    int32_t code;      // si_code: CLR_SIGNAL_OF_KERNEL, CLR_SIGNAL_OF_PROCESS, …
    int32_t sender;    // its process, where one sent it
    int32_t has_value;
    uint64_t value;    // of sigqueue(3)
} clr_signal_event;

enum { CLR_SIGNAL_OF_KERNEL = SI_KERNEL, CLR_SIGNAL_OF_PROCESS = SI_USER, CLR_SIGNAL_QUEUED = SI_QUEUE, CLR_SIGNAL_OF_THREAD = SI_TKILL };

// Waits for one of the signals of clr_wrap_block, or for SIGCHLD.
void clr_wrap_wait(clr_signal_event *event);
// The same for so long at most. Whether one came.
int clr_wrap_wait_for(clr_signal_event *event, int64_t nanoseconds);
// Sends the child what we were sent, with its value. 0, or -1 and errno.
int clr_wrap_forward(pid_t pid, int pidfd, const clr_signal_event *event);
// Sends it a signal. 0, or -1 and errno.
int clr_wrap_send(pid_t pid, int pidfd, int signal);

// Stops this process by that signal's own default, as a shell has to see it; returns when it is continued. SIGSTOP where that
// signal was ignored from the start.
int clr_wrap_stop_by(int signal, const clr_signal_state *state);
// Returns how often it was continued: more than once where it was stopped again at once.
// Ends this process by that signal, without a core of its own.
_Noreturn void clr_wrap_die_by(int signal);
