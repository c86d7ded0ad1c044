#define _GNU_SOURCE
#include "clr_process.h"
#include "cll_procfs_text.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char **arguments;
static int argument_count;

// glibc passes the arguments of main to constructors.
__attribute__((constructor)) static void clr_remember_arguments(int count, char **values) {
    arguments = values;
    argument_count = count;
}

char **clr_process_arguments(int *count) {
    *count = argument_count;
    return arguments;
}

static const struct {
    int number;
    const char *text;
} crashes[] = {
    {SIGSEGV, "invalid memory access"}, {SIGBUS, "unavailable memory"}, {SIGFPE, "arithmetic error"},
    {SIGILL, "illegal instruction: a failed check"}, {SIGTRAP, "trap: a failed check"}, {SIGABRT, "abort"}, {SIGSYS, "forbidden system call"},
};
enum { CRASHES = sizeof(crashes) / sizeof(crashes[0]) };

static const char *program_name;

static char *clr_append(char *out, char *end, const char *text) {
    while (*text != 0 && out < end) *out++ = *text++;
    return out;
}

static char *clr_append_hex(char *out, char *end, uint64_t value) {
    int shift = 60;
    while (shift > 0 && value >> shift == 0) shift -= 4;
    for (; shift >= 0 && out < end; shift -= 4) *out++ = "0123456789abcdef"[value >> shift & 15];
    return out;
}

// The disposition is already the default again (SA_RESETHAND), and the signal is not blocked (SA_NODEFER).
static void clr_handle_crash(int number, siginfo_t *info, void *context) {
    char line[256], *end = line + sizeof(line) - 1;
    char digits[12];
    char *out = clr_append(line, end, program_name);
    out = clr_append(out, end, ": crashed: signal ");
    *cll_append_number(digits, (unsigned)number) = 0;
    out = clr_append(out, end, digits);
    for (size_t index = 0; index < CRASHES; index++) {
        if (crashes[index].number != number) continue;
        out = clr_append(out, end, " (");
        out = clr_append(out, end, crashes[index].text);
        out = clr_append(out, end, ")");
    }
    const int is_sent = info->si_code <= 0;
    if (is_sent) {
        out = clr_append(out, end, " from process ");
        *cll_append_number(digits, (unsigned)info->si_pid) = 0;
        out = clr_append(out, end, digits);
    } else {
        out = clr_append(out, end, " at 0x");
        out = clr_append_hex(out, end, (uint64_t)(uintptr_t)info->si_addr);
    }
    *out++ = '\n';
    // If stderr is not read, the line is lost, but the process still ends.
    struct pollfd errors = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (poll(&errors, 1, 0) > 0 && (errors.revents & POLLOUT) != 0) {
        long written = syscall(SYS_write, STDERR_FILENO, line, out - line);
        (void)written;
    }
    // A fault recurs when this returns, now without a handler, so the core shows its place. A sent signal does not recur, nor does one whose
    // instruction is already complete (a breakpoint, a call that a filter refuses).
    const int is_fault = number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL;
    if (is_sent || !is_fault) syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), number);
}

static int clr_is_set_to_ignore(int number) {
    struct sigaction present;
    return sigaction(number, NULL, &present) == 0 && (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_IGN;
}

void clr_process_report_crashes(const char *fallback_name) {
    static uint8_t stack[16384] __attribute__((aligned(16)));
    const char *name = argument_count > 0 && arguments[0] != NULL ? arguments[0] : fallback_name;
    const char *slash = strrchr(name, '/');
    // The parent process chose the name: without control characters for a terminal (and without non-ASCII letters).
    static char plain[64];
    clr_append(plain, plain + sizeof(plain) - 1, slash != NULL ? slash + 1 : name);
    for (char *at = plain; *at != 0; at++) {
        if (*at < 0x20 || *at == 0x7f || (*at & 0x80) != 0) *at = '?';
    }
    program_name = plain;
    stack_t own = {.ss_sp = stack, .ss_size = sizeof(stack)};
    sigaltstack(&own, NULL);
    struct sigaction action;
    memset(&action, 0, sizeof(action));
    action.sa_sigaction = clr_handle_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND | SA_NODEFER;
    // The parent had a reason to ignore a signal; and programs that we start inherit that.
    for (size_t index = 0; index < CRASHES; index++) {
        if (!clr_is_set_to_ignore(crashes[index].number)) sigaction(crashes[index].number, &action, NULL);
    }
    // The runtime handles this one as well.
    if (!clr_is_set_to_ignore(SIGQUIT)) signal(SIGQUIT, SIG_DFL);
}
