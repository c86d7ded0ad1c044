// Handles programs that set their own filter for system calls (seccomp(2)): from then on an unexpected call may kill the program. So this
// library then makes no more system calls: it claims no slot, and wakes no thread when it publishes. Loops that have a slot continue; lagmond
// notices their answers by polling, at most a second later.
//
// Filters are set with `syscall` or `prctl`, as in libseccomp; a filter that a program sets with its own instruction is not detected.
// No header that declares the two is included, because there they take any number of arguments.
#define _GNU_SOURCE
#include "clb_loop_table.h"
#include "filters.h"
#include "hot.h"
#include "loop.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>

// MARK: Passing on

#define TEXT(number) #number
#define NUMBER(number) TEXT(number)
#define FUNCTION(name, instructions) \
    __asm__(".pushsection .text\n.balign 16\n.globl " name "\n.type " name ", %function\n" name ":\n.cfi_startproc\n" instructions \
            ".cfi_endproc\n.size " name ", . - " name "\n.popsection\n")

// Programs also wait with `syscall` (Perl's Sys::Syscall, libraries that are older than the C library's function): waits.c. The most frequent calls
// of programs (futex, gettid) pass by all comparisons.
//
// The seventh argument is on the stack. A caller that passes fewer arguments has its own data there, which other threads may write, and which compilers
// may overwrite. So these two are not written in C: they use only registers, and continue with a jump, because a caller may be a child on its parent's
// stack (vfork). `call_kernel` is for calls before the start, as memory libraries make them, which the loader must not call back.
#if defined(__x86_64__)
#define HANDLE(number, function) "cmpq $" NUMBER(number) ", %rdi\n je " function "\n"
FUNCTION(
    "syscall",
    "endbr64\n"
    HANDLE(__NR_seccomp, "filters_handle_seccomp")
    HANDLE(__NR_prctl, "filters_handle_prctl")
    HANDLE(__NR_epoll_wait, "waits_handle_syscall")
    HANDLE(__NR_epoll_pwait, "waits_handle_syscall")
    HANDLE(__NR_epoll_pwait2, "waits_handle_syscall")
    HANDLE(__NR_poll, "waits_handle_syscall")
    HANDLE(__NR_io_uring_enter, "waits_handle_syscall")
    "jmp *filters_real_syscall(%rip)\n"
);
FUNCTION(
    "filters_call_kernel",
    "endbr64\n"
    "movq %rdi, %rax\n movq %rsi, %rdi\n movq %rdx, %rsi\n movq %rcx, %rdx\n movq %r8, %r10\n movq %r9, %r8\n movq 8(%rsp), %r9\n"
    "syscall\n"
    "cmpq $-4095, %rax\n jae 1f\n ret\n"
    "1: negl %eax\n movl %eax, %edi\n jmp filters_fail\n"
);
#elif defined(__aarch64__)
#define HANDLE(number, function) "cmp x0, #" NUMBER(number) "\n b.eq " function "\n"
FUNCTION(
    "syscall",
    "hint #34\n"
    HANDLE(__NR_seccomp, "filters_handle_seccomp")
    HANDLE(__NR_prctl, "filters_handle_prctl")
    HANDLE(__NR_epoll_pwait, "waits_handle_syscall")
    HANDLE(__NR_epoll_pwait2, "waits_handle_syscall")
    HANDLE(__NR_io_uring_enter, "waits_handle_syscall")
    "adrp x16, filters_real_syscall\n ldr x16, [x16, #:lo12:filters_real_syscall]\n br x16\n"
);
FUNCTION(
    "filters_call_kernel",
    "hint #34\n"
    "mov x8, x0\n mov x0, x1\n mov x1, x2\n mov x2, x3\n mov x3, x4\n mov x4, x5\n mov x5, x6\n"
    "svc #0\n"
    "cmn x0, #4095\n b.cs 1f\n ret\n"
    "1: neg w0, w0\n b filters_fail\n"
);
#else
#error "unknown system call convention for this architecture"
#endif

#pragma GCC visibility push(hidden)

typedef int prctl_function(int, unsigned long, unsigned long, unsigned long, unsigned long);

syscall_function filters_call_kernel;
// Not on the page that a fork wipes, because a child has the filter too.
syscall_function *filters_real_syscall __attribute__((used)) = filters_call_kernel;

__attribute__((used)) long filters_fail(int error) {
    errno = error;
    return -1;
}

// MARK: Filters

static int call_prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    return (int)filters_call_kernel(SYS_prctl, option, (long)a, (long)b, (long)c, (long)d, 0);
}

static prctl_function *real_prctl = call_prctl;

void filters_begin(void) {
    int saved = errno;
    void *function = dlsym(RTLD_NEXT, "syscall");
    if (function != NULL) filters_real_syscall = (syscall_function *)function;
    function = dlsym(RTLD_NEXT, "prctl");
    if (function != NULL) real_prctl = (prctl_function *)function;
    errno = saved;
}

// Whether this is a child of vfork(2), which has its parent's memory but not its filters.
static int is_within_parent(void) {
    int32_t pid = __atomic_load_n(&hot.pid, __ATOMIC_RELAXED);
    return pid != 0 && pid != (int32_t)filters_call_kernel(SYS_getpid, 0, 0, 0, 0, 0, 0);
}

enum { NOT_OURS, OF_THREAD, OF_PROCESS };

// Call it before the filter is set; returns which threads it applies to. A filter that the kernel refuses (libseccomp tries what is available) is taken
// back; a concurrent one of another thread stays.
static int begin_filter(int is_for_all) {
    if (!clb_makes_no_calls() && is_within_parent()) return NOT_OURS;
    // Threads that the main thread creates inherit its filters.
    int is_threads_own = !is_for_all && hot.pid != 0 && &loop_self != loop_main_thread;
    clb_count_filters(is_threads_own, 1);
    return is_threads_own ? OF_THREAD : OF_PROCESS;
}

static void end_filter(int whose, int is_set) {
    if (whose != NOT_OURS && !is_set) clb_count_filters(whose == OF_THREAD, -1);
}

// The kernel's arguments of both calls fit into registers.
__attribute__((used)) long filters_handle_seccomp(long number, long operation, long flags, long argument) {
    int sets = (unsigned)operation == SECCOMP_SET_MODE_STRICT || (unsigned)operation == SECCOMP_SET_MODE_FILTER;
    int is_for_all = (flags & SECCOMP_FILTER_FLAG_TSYNC) != 0;
    int whose = sets ? begin_filter(is_for_all) : NOT_OURS;
    long result = filters_real_syscall(number, operation, flags, argument, 0, 0, 0);
    // A result other than 0 is a requested descriptor, or the ID of the thread that prevents a filter for all.
    int is_descriptor = (flags & SECCOMP_FILTER_FLAG_NEW_LISTENER) != 0;
    end_filter(whose, is_for_all && !is_descriptor ? result == 0 : result >= 0);
    return result;
}

__attribute__((used)) long filters_handle_prctl(long number, long option, long a, long b, long c, long d) {
    int whose = (int)option == PR_SET_SECCOMP ? begin_filter(0) : NOT_OURS;
    long result = filters_real_syscall(number, option, a, b, c, d, 0);
    end_filter(whose, result >= 0);
    return result;
}

static __attribute__((noinline, cold)) int set_filter(unsigned long mode, unsigned long argument) {
    int whose = begin_filter(0);
    int result = real_prctl(PR_SET_SECCOMP, mode, argument, 0, 0);
    end_filter(whose, result >= 0);
    return result;
}

#pragma GCC visibility pop

// Arguments that the caller did not pass have the values of its registers, as in the C library. prctl may change how returns are checked, so no
// frame of this function may be below the call.
#if __has_attribute(musttail)
#define PASS_ON __attribute__((musttail)) return
#else
#define PASS_ON return
#endif

__attribute__((visibility("default"))) int prctl(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d) {
    if (__builtin_expect(option == PR_SET_SECCOMP, 0)) return set_filter(a, b);
    PASS_ON real_prctl(option, a, b, c, d);
}
