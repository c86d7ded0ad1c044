#define _GNU_SOURCE
#include "cll_wait_counter.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// Where the call's instruction begins, and how long the processor wants a breakpoint to be.
#if defined(__x86_64__)
enum { CALL_BYTES = 2, BREAKPOINT_BYTES = sizeof(long) };
#else
enum { CALL_BYTES = 4, BREAKPOINT_BYTES = HW_BREAKPOINT_LEN_4 };
#endif

int cll_breakpoint_open(pid_t tid, uint64_t address) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_addr = address;
    attributes.bp_len = BREAKPOINT_BYTES;
    // Each time it counts it leaves a stamp, where it has a ring for it (cll_switches_take).
    attributes.sample_period = 1;
    attributes.sample_type = PERF_SAMPLE_TIME;
    attributes.sample_id_all = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    int counter = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return counter < 0 ? -errno : counter;
}

int cll_wait_counter_open(pid_t tid, uint64_t pc) { return cll_breakpoint_open(tid, pc - CALL_BYTES); }

void cll_wait_counter_set(int counter, int counts) {
    ioctl(counter, counts ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t cll_wait_counter_read(int counter) {
    uint64_t count = 0;
    return read(counter, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}
