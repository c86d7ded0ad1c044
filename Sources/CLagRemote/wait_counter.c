#define _GNU_SOURCE
#include "clr_wait_counter.h"

#include "cll_breakpoint.h"
#include "cll_instruction.h"
#include "cll_memory.h"

#include <errno.h>

// The instruction that the thread passes with each call that returns to `pc`; 0: none.
static uint64_t clr_place_of_call(pid_t tid, uint64_t pc) {
#if defined(__x86_64__)
    return pc - 2;
#else
    // Not the call itself: the kernel steps over the instruction at a breakpoint, and reports a step over a system call like one that a debugger
    // requested (report_syscall, arch/arm64/kernel/ptrace.c), with a SIGTRAP, which kills the program. The instruction before it mostly sets the
    // call's number. After a jump it would not be executed; another call is no better, and an exclusive access fails when it is stepped over.
    uint32_t code;
    if (cll_memory_read(tid, pc - 8, &code, sizeof(code)) != sizeof(code)) return 0;
    int is_call = (code & 0xff000000) == 0xd4000000, is_exclusive = (code & 0x3f000000) == 0x08000000;
    return is_call || is_exclusive || cll_leaves_straight_line(code) ? 0 : pc - 8;
#endif
}

int clr_wait_counter_open(pid_t tid, uint64_t pc) {
    uint64_t place = clr_place_of_call(tid, pc);
    return place == 0 ? -EOPNOTSUPP : cll_breakpoint_open(tid, place);
}
