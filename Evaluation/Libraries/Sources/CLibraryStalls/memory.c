// Memory: time of the allocator, time of the kernel, and control groups with too little memory.
#include "tables.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct node {
    struct node *next;
    char text[40];
};

static struct node *list;
static void *blocks[200000];

static const char *build_list(void) {
    // Freed in scattered order, so that every node has neighbours that are still allocated.
    static struct node *nodes[3000000];
    size_t count = sizeof nodes / sizeof *nodes;
    for (size_t index = 0; index < count; index++) nodes[index] = malloc(sizeof(struct node));
    for (size_t index = 0; index < count; index++) {
        struct node *node = nodes[index * 1000003 % count];
        node->next = list;
        list = node;
    }
    return NULL;
}

int close_document(moment end) {
    int freed = 0;
    while (list) {
        struct node *next = list->next;
        free(list);
        list = next;
        freed++;
    }
    return freed;
}

int shuffle_buffers(moment end) {
    unsigned random = 1;
    int sizes = 0;
    while (moment_now() < end) {
        for (int round = 0; round < 2000; round++) {
            random = random * 1664525u + 1013904223u;
            size_t index = (random >> 8) % 200000;
            free(blocks[index]);
            blocks[index] = malloc(16 + (random >> 20));
            sizes += blocks[index] != NULL;
        }
    }
    return sizes;
}

int give_memory_back(moment end) {
    int trims = 0;
    while (moment_now() < end) {
        for (int index = 0; index < 2000; index++) blocks[index] = malloc(8000);
        for (int index = 0; index < 2000; index += 2) free(blocks[index]);
        trims += malloc_trim(0);
        for (int index = 1; index < 2000; index += 2) free(blocks[index]);
    }
    return trims;
}

int clear_new_frames(moment end) {
    int frames = 0;
    while (moment_now() < end) {
        // Above malloc's mmap threshold, so that each allocation gets new pages.
        char *frame = malloc(64 << 20);
        for (size_t offset = 0; offset < 64 << 20; offset += 4096) {
            frame[offset] = 1;
            if (offset % (1 << 20) == 0 && moment_now() >= end) break;
        }
        frames += frame[0];
        free(frame);
    }
    return frames;
}

int protect_pages(moment end) {
    enum { bytes = 256 << 20 };
    char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int changes = 0;
    for (size_t offset = 0; offset < 32 << 20; offset += 4096) start[offset] = 1;
    while (moment_now() < end) {
        changes += mprotect(start, bytes, PROT_READ) == 0;
        changes += mprotect(start, bytes, PROT_READ | PROT_WRITE) == 0;
    }
    munmap(start, bytes);
    return changes;
}

enum { pipe_bytes = 1 << 16, room_bytes = 16 };
static int log_ends[2];

// All threads use one arena, as with GLIBC_TUNABLES or a container's limit. The log is a pipe without a reader, with space for a few
// words.
static const char *share_arena(void) {
    static char text[pipe_bytes - room_bytes];
    if (mallopt(M_ARENA_MAX, 1) != 1) return "mallopt refuses one arena";
    if (pipe2(log_ends, O_CLOEXEC) != 0 || fcntl(log_ends[1], F_SETPIPE_SZ, pipe_bytes) != pipe_bytes) return failed("pipe");
    return write(log_ends[1], text, sizeof text) == sizeof text ? NULL : failed("a pipe");
}

// malloc_stats writes to stderr while it holds the arena's lock.
static void *log_statistics(void *unused) {
    pthread_setname_np(pthread_self(), "statistician");
    int own = dup(STDERR_FILENO);
    dup2(log_ends[1], STDERR_FILENO);
    malloc_stats();
    dup2(own, STDERR_FILENO);
    close(own);
    close(log_ends[1]);
    return NULL;
}

static int read_log(void *unused) {
    static char text[4096];
    while (read(log_ends[0], text, sizeof text) > 0) {}
    return 0;
}

static void hold_arena(moment end) {
    pthread_t thread;
    int count = 0;
    act_at(end, "log-reader", read_log, NULL);
    if (pthread_create(&thread, NULL, log_statistics, NULL) != 0) abort();
    pthread_detach(thread);
    // Its first words fit into the pipe, and arrive when it holds the lock.
    while (count <= pipe_bytes - room_bytes && moment_now() < end) {
        sched_yield();
        ioctl(log_ends[0], FIONREAD, &count);
    }
}

int build_reply(moment end) {
    // Too large for a thread's cache, and too small for a separate mapping.
    enum { bytes = 40000 };
    char *reply = malloc(bytes);
    memset(reply, 1, bytes);
    int last = reply[bytes - 1];
    free(reply);
    return last;
}

// The folder of a new control group of version 1 or 2.
static char group[128];

static int write_file(const char *name, const char *text) {
    char path[192];
    snprintf(path, sizeof path, "%s/%s", group, name);
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t count = write(file, text, strlen(text));
    close(file);
    return count == (ssize_t)strlen(text) ? 0 : -1;
}

// Creates a group and writes the limit, in the first hierarchy that has the file for it.
static int make_group(const char *parent, const char *name, const char *text) {
    snprintf(group, sizeof group, "%s/librarystalls-%d", parent, (int)getpid());
    if (mkdir(group, 0755) != 0) return -1;
    if (write_file(name, text) == 0) return 0;
    rmdir(group);
    return -1;
}

// Enters the group, and starts a child that removes it after this process has exited.
static const char *enter_group(void) {
    char pid[16];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    int ends[2];
    if (pipe2(ends, 0) != 0) return failed("pipe");
    pid_t remover = fork();
    if (remover == 0) {
        char byte;
        close(ends[1]);
        close(STDOUT_FILENO);
        while (read(ends[0], &byte, 1) > 0) {}
        for (int round = 0; round < 200 && rmdir(group) != 0 && errno == EBUSY; round++) usleep(10000);
        _exit(0);
    }
    close(ends[0]);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return write_file("cgroup.procs", pid) == 0 ? NULL : failed("entering a control group");
}

static const char *limit_processor(void) {
    // One tenth of a processor, in periods of one tenth of a second.
    if (make_group("/sys/fs/cgroup", "cpu.max", "10000 100000") != 0 &&
        make_group("/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "10000") != 0)
        return "cannot create a control group with a CPU quota";
    return enter_group();
}

int compute_forecast(moment end) {
    unsigned state = 1;
    while (moment_now() < end) {
        for (int round = 0; round < 2000; round++) state = state * 134775813u + 1;
    }
    return (int)state;
}

static int cold_file;
static char *cold;
enum { cold_bytes = 96 << 20 };

static const char *limit_memory(void) {
    cold_file = scratch_file(cold_bytes, NULL);
    if (cold_file < 0) return failed("/var/tmp");
    // Version 1 has no memory.high; its limit makes the kernel reclaim pages in the same way.
    if (make_group("/sys/fs/cgroup", "memory.high", "33554432") != 0 &&
        make_group("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "33554432") != 0)
        return "cannot create a control group with a memory limit";
    cold = mmap(NULL, cold_bytes, PROT_READ, MAP_SHARED, cold_file, 0);
    madvise(cold, cold_bytes, MADV_RANDOM);
    posix_fadvise(cold_file, 0, 0, POSIX_FADV_DONTNEED);
    return enter_group();
}

int scan_history(moment end) {
    size_t page = 0, sum = 0;
    while (moment_now() < end) {
        page = (page + 10007) % (cold_bytes / 4096);
        sum += (unsigned char)cold[page * 4096];
    }
    return (int)sum;
}

const struct stall memory_stalls[] = {
    {"free-long-list", "cpu", "close_document", NULL, NULL, "free of a list of three million nodes", build_list, NULL,
     close_document},
    {"malloc-fragmented", "cpu|page_fault", "shuffle_buffers", NULL, NULL, "malloc and free of all sizes in random order", NULL,
     NULL, shuffle_buffers},
    {"malloc-trim", "cpu|page_fault|syscall", "give_memory_back", NULL, NULL, "malloc_trim returns memory that is allocated again",
     NULL, NULL, give_memory_back},
    {"malloc-new-pages", "page_fault", "clear_new_frames", NULL, NULL, "large allocations: the kernel clears every page", NULL,
     NULL, clear_new_frames},
    {"malloc-arena-held", "lock", "build_reply", NULL, NULL,
     "malloc in an arena whose lock another thread has, which writes statistics to a full pipe", share_arena, hold_arena,
     build_reply},
    {"mprotect", "syscall|cpu", "protect_pages", NULL, NULL, "mprotect of many pages: the kernel computes", NULL, NULL,
     protect_pages},
    {"cgroup-quota", "runqueue", "compute_forecast", NULL, NULL, "computing in a control group with a tenth of a processor",
     limit_processor, NULL, compute_forecast},
    {"memory-high", "page_fault", "scan_history", NULL, NULL, "a mapped file in a control group with less memory than it needs",
     limit_memory, NULL, scan_history, 1},
    {0},
};
