// Other processes: creating them, waiting for them, and the kernel's work for both.
#include "tables.h"

#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static char command[64];

static void make_command(moment end) {
    // The shell does not distinguish a sleeping child from a working one.
    snprintf(command, sizeof command, "sleep %.3f", (double)(end - moment_now()) / 1e9);
}

int run_backup_script(moment end) {
    int status = system(command);
    return status + 1;
}

int read_tool_output(moment end) {
    char line[64];
    int lines = 0;
    FILE *output = popen(command, "re");
    while (output && fgets(line, sizeof line, output)) lines++;
    return output ? pclose(output) + lines : -1;
}

int print_report(moment end) {
    FILE *input = popen(command, "we");
    if (!input) return -1;
    fputs("report\n", input);
    int status = pclose(input);
    return status + 1;
}

int start_helper(moment end) {
    pid_t child = vfork();
    if (child == 0) {
        // The parent is suspended until here.
        rest_until(end);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
}

int wait_for_converter(moment end) {
    char *arguments[] = {"sh", "-c", command, NULL};
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, "sh", NULL, NULL, arguments, environ) != 0) return -1;
    while (waitpid(child, &status, 0) < 0) {}
    return status;
}

enum { shared_bytes = 256 << 20, mappings = 64 };

// Page tables as large as a database's, without its memory: the same pages are mapped many times, privately. fork copies every
// entry of the page tables.
static const char *grow(void) {
    int memory = memfd_create("librarystalls", MFD_CLOEXEC);
    if (memory < 0 || ftruncate(memory, shared_bytes) != 0) return failed("memfd_create");
    for (int index = 0; index < mappings; index++) {
        volatile char *start = mmap(NULL, shared_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, memory, 0);
        if (start == MAP_FAILED) return failed("mmap");
        // The first pass allocates the pages; later the kernel only maps them.
        for (size_t offset = 0; index == 0 && offset < shared_bytes; offset += 4096) (void)start[offset];
        if (madvise((void *)start, shared_bytes, MADV_POPULATE_READ) != 0) return failed("MADV_POPULATE_READ");
        // A private page makes fork copy the table.
        start[0] = 1;
    }
    return NULL;
}

int save_in_background(moment end) {
    pid_t child = fork();
    if (child == 0) _exit(0);
    signal(SIGCHLD, SIG_IGN);
    return child < 0;
}

static volatile int received;
static void on_wake_up(int number) { received++; }

static int send_signal(void *thread) { return pthread_kill(*(pthread_t *)thread, SIGUSR1); }

static void signal_late(moment end) {
    static pthread_t main_thread;
    main_thread = pthread_self();
    struct sigaction act = {.sa_handler = on_wake_up};
    sigaction(SIGUSR1, &act, NULL);
    act_at(end, "waker", send_signal, &main_thread);
}

int wait_for_signal(moment end) {
    int code = pause();
    return code + received;
}

const struct stall process_stalls[] = {
    {"system", "syscall", "run_backup_script", NULL, NULL, "system() with a slow command", NULL, make_command,
     run_backup_script},
    {"popen-read", "syscall", "read_tool_output", NULL, NULL, "reading the output of a slow command", NULL, make_command,
     read_tool_output},
    {"pclose", "syscall", "print_report", NULL, NULL, "pclose waits for the command", NULL, make_command, print_report},
    {"vfork", "syscall", "start_helper", NULL, NULL, "vfork with a child that calls exec late", NULL, NULL, start_helper},
    {"posix-spawn-wait", "syscall", "wait_for_converter", NULL, NULL, "waitpid for a command", NULL, make_command,
     wait_for_converter},
    // The kernel computes in the call, so both a system call and CPU time are correct.
    {"fork-large", "syscall|cpu", "save_in_background", NULL, NULL, "fork of a process with page tables of 16 GB", grow, NULL,
     save_in_background},
    {"pause", "syscall", "wait_for_signal", NULL, NULL, "pause() until a signal arrives", NULL, signal_late, wait_for_signal},
    {0},
};
