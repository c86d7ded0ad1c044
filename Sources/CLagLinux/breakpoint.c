#define _GNU_SOURCE
#include "cll_wait_counter.h"

#include "cll_instruction.h"
#include "cll_memory.h"

#include <asm/perf_regs.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// How long the processor wants a breakpoint to be.
#if defined(__x86_64__)
enum { BREAKPOINT_BYTES = sizeof(long) };
// The call's first argument and the stack pointer, in this order in a sample (clr_switches_next).
static const uint64_t registers = 1ull << PERF_REG_X86_DI | 1ull << PERF_REG_X86_SP;
#else
enum { BREAKPOINT_BYTES = HW_BREAKPOINT_LEN_4 };
static const uint64_t registers = 1ull << PERF_REG_ARM64_X0 | 1ull << PERF_REG_ARM64_SP;
#endif

// The place that the thread comes by with each call that returns to `pc`; 0: there is none.
static uint64_t cll_place_of_call(pid_t tid, uint64_t pc) {
#if defined(__x86_64__)
    return pc - 2;
#else
    // Not the call itself: the kernel steps over the instruction at a breakpoint, and reports a step over a system call as one that a debugger asked
    // for (report_syscall, arch/arm64/kernel/ptrace.c): SIGTRAP, of which the program dies. The instruction before it is mostly the one that sets the
    // call's number. After a jump it would not be come by; another call is no better, and an exclusive access fails when it is stepped over.
    uint32_t code;
    if (cll_memory_read(tid, pc - 8, &code, sizeof(code)) != sizeof(code)) return 0;
    int is_call = (code & 0xff000000) == 0xd4000000, is_exclusive = (code & 0x3f000000) == 0x08000000;
    return is_call || is_exclusive || cll_leaves_straight_line(code) ? 0 : pc - 8;
#endif
}

int cll_breakpoint_open(pid_t tid, uint64_t address) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_BREAKPOINT;
    attributes.bp_type = HW_BREAKPOINT_X;
    attributes.bp_addr = address;
    attributes.bp_len = BREAKPOINT_BYTES;
    // Each time it counts it leaves a stamp, where it has a ring for it (clr_switches_take).
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

int cll_wait_counter_open(pid_t tid, uint64_t pc) {
    uint64_t place = cll_place_of_call(tid, pc);
    return place == 0 ? -EOPNOTSUPP : cll_breakpoint_open(tid, place);
}

void cll_wait_counter_set(int counter, int counts) {
    ioctl(counter, counts ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

uint64_t cll_wait_counter_read(int counter) {
    uint64_t count = 0;
    return read(counter, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}
