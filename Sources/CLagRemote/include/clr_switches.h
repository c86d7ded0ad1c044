// Timestamps of a thread of another process: when it left and got its processor, and passed its wait. The kernel records them without the thread.
//
// perf_event_open(2): a software event that counts nothing (PERF_COUNT_SW_DUMMY) with PERF_RECORD_SWITCH records, and, into the same ring,
// the samples of a counter at the thread's wait (clr_wait_counter.h). It opens without privileges where kernel.perf_event_paranoid is 2 or
// less. Each switch away from a processor and back costs the thread 1.1 µs more while recording, and 0.5 µs while the event (like any
// perf event, also a counter) is open but off; nothing after it is closed, and other threads nothing measurable. It consists only of descriptors
// and a mapping of this process: however this process ends, nothing remains in the other.
#pragma once

#include <stdint.h>
#include <sys/types.h>

enum {
    CLR_SWITCH_IN = 1,
    CLR_SWITCH_PREEMPTED = 2,  // it left its processor, still ready to run
    CLR_SWITCH_ASLEEP = 3,     // it left its processor to sleep
    CLR_SWITCH_PASS = 4,       // it passed its wait
    CLR_SWITCH_LOST = 5,       // records before this one were lost: the ring was full
};

typedef struct clr_switch {
    uint64_t time_ns;         // CLOCK_MONOTONIC
    int32_t kind;
    uint64_t sp;              // of a pass; UINT64_MAX: not known
    uint64_t first_argument;  // of the call that it passed, if `sp` is known
} clr_switch;

typedef struct clr_switches {
    int event;       // -1: not open
    uint64_t bytes;  // of the mapping
    void *ring;
} clr_switches;

// Opens it, not recording yet. 0, or an errno: EACCES or EPERM if perf events are not allowed (kernel.perf_event_paranoid; any seccomp filter,
// because many kill the process for the call; the limit of locked memory), EMFILE, ESRCH. Maps three pages (two if pages
// are larger than 4 KB), for 500 switches or 200 passes.
int clr_switches_open(pid_t tid, clr_switches *switches);
void clr_switches_close(clr_switches *switches);
// Starts or stops recording. Takes some µs.
void clr_switches_set(const clr_switches *switches, int records);
// Makes a counter of clr_wait_counter_open record a timestamp each time it counts. Returns whether it will.
int clr_switches_take(const clr_switches *switches, int counter);
// The next record, in order of time, up to `until_ns`. 0: none. No system call, never blocks; one thread at a time.
int clr_switches_next(const clr_switches *switches, uint64_t until_ns, clr_switch *found);
// Whether the ring has no space for another record: what came since is lost, and the record that says so comes with the next one.
int clr_switches_is_full(const clr_switches *switches);
// Forgets what was recorded so far.
void clr_switches_discard(const clr_switches *switches);
