#define _GNU_SOURCE
#include "cll_pool.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Weak: a program that runs no task, or drains no queue, has none of them.
extern void swift_job_run(void) __attribute__((weak));
extern char _dispatch_main_q __attribute__((weak));

// What getdents64(2) fills in; glibc has it only as `struct dirent`, which readdir(3) allocates for.
typedef struct cll_directory_entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} cll_directory_entry;

static pid_t cll_entry_number(const char *name) {
    pid_t number = 0;
    while (*name >= '0' && *name <= '9') number = number * 10 + (*name++ - '0');
    return *name == 0 ? number : 0;
}

size_t cll_pool_threads(const cll_name *name, pid_t *tids, size_t capacity) {
    int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return 0;
    size_t found = 0, visited = 0;
    char buffer[4096] __attribute__((aligned(8)));
    long length;
    while (found < capacity && visited < CLL_POOL_THREADS_MAX && (length = syscall(SYS_getdents64, fd, buffer, sizeof buffer)) > 0) {
        for (long at = 0; at < length && found < capacity && visited < CLL_POOL_THREADS_MAX;) {
            const cll_directory_entry *entry = (const cll_directory_entry *)(buffer + at);
            at += entry->length;
            pid_t tid = cll_entry_number(entry->name);
            if (tid == 0) continue;
            visited++;
            cll_name present;
            cll_procfs_name(getpid(), tid, &present);
            if (strncmp(present.text, name->text, sizeof name->text) == 0) tids[found++] = tid;
        }
    }
    close(fd);
    return found;
}

uint64_t cll_pool_job_function(void) { return (uint64_t)(uintptr_t)&swift_job_run; }

const void *cll_pool_main_queue(void) { return &_dispatch_main_q; }
