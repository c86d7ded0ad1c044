#define _GNU_SOURCE
#include "cll_breakpoint.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// The length that the processor requires for a breakpoint.
#if defined(__x86_64__)
enum { BREAKPOINT_BYTES = sizeof(long) };
// The call's first argument and the stack pointer, in this order in a sample (clr_switches_next).
static const uint64_t registers = 1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_SP;
#else
enum { BREAKPOINT_BYTES = HW_BREAKPOINT_LEN_4 };
static const uint64_t registers = 1ull << PERF_REG_ARM64_X0 | 1ull << PERF_REG_ARM64_SP;
#endif

int cll_breakpoint_open(pid_t tid, uint64_t address) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_addr = address;
    attributes.bp_len = BREAKPOINT_BYTES;
    // Each time it counts, it leaves a stamp, if there is a ring for it (clr_switches_take).
    attributes.sample_period = 1;
    attributes.sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER;
    attributes.sample_regs_user = registers;
    attributes.sample_id_all = 1;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.disabled = 1;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    int counter = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (counter < 0 && (errno == EINVAL || errno == ENOSYS)) {
        // A kernel that does not sample registers.
        attributes.sample_type = PERF_SAMPLE_TIME;
        attributes.sample_regs_user = 0;
        counter = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    }
    return counter < 0 ? -errno : counter;
}

void cll_breakpoint_set(int counter, int counts) {
    ioctl(counter, counts ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t cll_breakpoint_count(int counter) {
    uint64_t count = 0;
    return read(counter, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}
