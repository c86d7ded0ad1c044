#define _GNU_SOURCE
#include "cll_procfs.h"
#include "cll_procfs_text.h"
#include "cll_spare.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char *cll_append_text(char *out, const char *text) {
    while (*text) *out++ = *text++;
    return out;
}

char *cll_append_number(char *out, unsigned number) {
    char digits[12];
    int count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (count) *out++ = digits[--count];
    return out;
}

// The path of a file below the thread's folder, or below the process's if `tid` is 0. Returns its end.
static char *cll_procfs_path(char *out, pid_t pid, pid_t tid, const char *name) {
    out = cll_append_text(out, "/proc/");
    out = cll_append_number(out, (unsigned)pid);
    if (tid != 0) {
        out = cll_append_text(out, "/task/");
        out = cll_append_number(out, (unsigned)tid);
    }
    *out++ = '/';
    out = cll_append_text(out, name);
    *out = 0;
    return out;
}

int cll_procfs_open(pid_t pid, pid_t tid, const char *name) {
    char path[96];
    cll_procfs_path(path, pid, tid, name);
    int fd = cll_spare_open(path, O_RDONLY | O_CLOEXEC);
    return fd == -ENOENT ? -ESRCH : fd;
}

long cll_procfs_read(pid_t pid, pid_t tid, const char *name, char *buffer, size_t size) {
    int fd = cll_procfs_open(pid, tid, name);
    if (fd < 0) return fd;
    size_t length = 0;
    long error = 0;
    while (length < size - 1) {
        ssize_t got = read(fd, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) error = -(long)errno;
        if (got <= 0) break;
        length += (size_t)got;
    }
    cll_spare_close(fd);
    buffer[length] = 0;
    return error != 0 ? error : (long)length;
}

int cll_procfs_each(pid_t pid, const char *folder, unsigned most, int (*visit)(unsigned number, void *context), void *context) {
    char path[96];
    cll_procfs_path(path, pid, 0, folder);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return -1;
    // Not readdir(3), which allocates.
    char entries[4096] __attribute__((aligned(8)));
    int result = 0;
    unsigned visited = 0;
    while (result == 0) {
        long length = syscall(SYS_getdents64, fd, entries, sizeof(entries));
        if (length < 0) result = -1;
        if (length <= 0) break;
        for (long at = 0; at < length && result == 0;) {
            const struct dirent64 *entry = (const struct dirent64 *)(entries + at);
            const char *name = entry->d_name;
            at += entry->d_reclen;
            if (*name < '0' || *name > '9') continue;
            result = visited++ == most ? -2 : visit((unsigned)cll_parse_number(&name, 10), context);
        }
    }
    close(fd);
    return result;
}

static int cll_is_living(unsigned tid, void *context) {
    pid_t pid = *(const pid_t *)context;
    return (pid_t)tid != pid && !cll_thread_is_ending(pid, (pid_t)tid) ? (int)tid : 0;
}

pid_t cll_living_thread(pid_t pid) {
    enum { MOST = 4096 };
    if (pid == getpid()) return (pid_t)syscall(SYS_gettid);
    if (!cll_thread_is_ending(pid, pid)) return 0;
    int tid = cll_procfs_each(pid, "task", MOST, cll_is_living, &pid);
    return tid > 0 ? tid : 0;
}

static ssize_t cll_link_of_thread(pid_t pid, pid_t tid, int descriptor, char *link, size_t size) {
    char path[96];
    *cll_append_number(cll_procfs_path(path, pid, tid, "fd/"), (unsigned)descriptor) = 0;
    return readlink(path, link, size);
}

ssize_t cll_procfs_link(pid_t pid, int descriptor, char *link, size_t size) {
    ssize_t length = cll_link_of_thread(pid, 0, descriptor, link, size);
    if (length >= 0 || errno != ENOENT) return length;
    pid_t other = cll_living_thread(pid);
    errno = ENOENT;
    return other != 0 ? cll_link_of_thread(pid, other, descriptor, link, size) : -1;
}

uint64_t cll_parse_number(const char **text, int base) {
    const char *at = *text;
    while (*at == ' ' || *at == '\t') at++;
    if (base == 0) {
        base = 10;
        if (at[0] == '0' && at[1] == 'x') {
            base = 16;
            at += 2;
        }
    }
    uint64_t value = 0;
    for (;; at++) {
        int digit;
        if (*at >= '0' && *at <= '9') digit = *at - '0';
        else if (base == 16 && *at >= 'a' && *at <= 'f') digit = *at - 'a' + 10;
        else break;
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    *text = at;
    return value;
}

int cll_parse_syscall(const char *text, cll_thread_syscall *result) {
    const char *at = text;
    if (*at == 'r') return CLL_SYSCALL_RUNNING;
    memset(result, 0, sizeof(*result));
    if (*at == '-') {  // "-1 SP PC": blocked, but not in a system call
        at += 2;
        result->number = -1;
    } else {
        result->number = (int64_t)cll_parse_number(&at, 10);
        for (int index = 0; index < 6; index++) result->arguments[index] = cll_parse_number(&at, 0);
    }
    result->sp = cll_parse_number(&at, 0);
    result->pc = cll_parse_number(&at, 0);
    // A kernel that hides them (no permission to trace) prints zeros.
    return result->sp == 0 || result->pc == 0 ? -EPERM : CLL_SYSCALL_BLOCKED;
}

int cll_procfs_syscall(pid_t pid, pid_t tid, cll_thread_syscall *result) {
    char text[256];
    long length = cll_procfs_read(pid, tid, "syscall", text, sizeof(text));
    return length < 0 ? (int)length : cll_parse_syscall(text, result);
}

void cll_procfs_name(pid_t pid, pid_t tid, cll_name *name) {
    char text[32];
    memset(name, 0, sizeof(*name));
    long length = cll_procfs_read(pid, tid, "comm", text, sizeof(text));
    if (length > 1) memcpy(name->text, text, (size_t)(length - 1 < 16 ? length - 1 : 16));
}

// Where a field begins in the text of a `stat`; NULL if it has no such field. From the third on: the name in parentheses
// may contain anything, including a parenthesis.
static const char *cll_field_of_stat(const char *text, int number) {
    const char *at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < number; field++) at = strchr(at + 1, ' ');
    return at != NULL ? at + 1 : NULL;
}

int cll_procfs_faults(pid_t pid, pid_t tid, cll_thread_faults *faults) {
    char text[1024];
    long length = cll_procfs_read(pid, tid, "stat", text, sizeof(text));
    if (length < 0) return (int)-length;
    const char *at = cll_field_of_stat(text, 4);
    if (at == NULL) return EINVAL;
    // Two of them may be negative, but not the requested ones.
    for (int field = 4; field <= 15; field++) {
        while (*at == ' ' || *at == '-') at++;
        uint64_t value = cll_parse_number(&at, 10);
        if (field == 10) faults->minor = value;
        if (field == 12) faults->major = value;
        if (field == 15) faults->system_ns = value * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    }
    return 0;
}

// A number in the `stat` of a process or a thread.
static int cll_stat_field(pid_t pid, pid_t tid, int number, uint64_t *value) {
    char text[1024];
    long length = cll_procfs_read(pid, tid, "stat", text, sizeof(text));
    if (length < 0) return (int)-length;
    const char *at = cll_field_of_stat(text, number);
    if (at == NULL) return EINVAL;
    *value = cll_parse_number(&at, 10);
    return 0;
}

int cll_procfs_start_ticks(pid_t pid, uint64_t *ticks) { return cll_stat_field(pid, 0, 22, ticks); }

// The main thread's own file: for the process's file, the kernel adds up the usage of all its threads.
int cll_procfs_image(pid_t pid, uint64_t *image) { return cll_stat_field(pid, pid, 28, image); }

int cll_parse_process(const char *text, cll_process *process) {
    const char *state = cll_field_of_stat(text, 3), *parent = cll_field_of_stat(text, 4);
    const char *start = cll_field_of_stat(text, 22), *image = cll_field_of_stat(text, 28);
    if (image == NULL) return EINVAL;
    *process = (cll_process){
        .parent = (pid_t)cll_parse_number(&parent, 10),
        .state = *state,
        .start_ticks = cll_parse_number(&start, 10),
        .image = cll_parse_number(&image, 10),
    };
    return 0;
}

int cll_procfs_process(pid_t pid, cll_process *process) {
    char text[1024];
    long length = cll_procfs_read(pid, pid, "stat", text, sizeof(text));
    return length < 0 ? (int)-length : cll_parse_process(text, process);
}

int cll_procfs_exit_status(pid_t pid, int *status) {
    char text[1024];
    long length = cll_procfs_read(pid, 0, "stat", text, sizeof(text));
    const char *state = length > 0 ? cll_field_of_stat(text, 3) : NULL;
    const char *at = state != NULL && *state == 'Z' ? cll_field_of_stat(text, 52) : NULL;
    if (at == NULL) return 0;
    *status = (int)cll_parse_number(&at, 10);
    return 1;
}

int cll_thread_is_ending(pid_t pid, pid_t tid) {
    enum { EXITING = 0x4 };  // PF_EXITING, include/linux/sched.h
    uint64_t flags = 0;
    int error = cll_stat_field(pid, tid, 9, &flags);
    return error == ESRCH || error == ENOENT || (error == 0 && (flags & EXITING) != 0);
}

uint64_t cll_thread_cpu_ns(pid_t tid) {
    // The clock of a thread by its id, as in pthread_getcpuclockid: CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK.
    clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6);
    struct timespec time;
    if (clock_gettime(clock, &time) != 0) return 0;
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

long cll_procfs_schedstat(pid_t pid, pid_t tid, char *buffer, size_t size) {
    return cll_procfs_read(pid, tid, "schedstat", buffer, size);
}

int cll_is_thread_of(pid_t pid, pid_t tid) {
    int file = cll_procfs_open(pid, tid, "comm");
    if (file >= 0) cll_spare_close(file);
    return file != -ESRCH && file != -ENOENT;
}
