// FUSE, io_uring and the loader.
#define FUSE_USE_VERSION 31
#include "tables.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse.h>
#include <liburing.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

// The file system of another process: it has one file, and reads are slow.
static char mount_point[64], file_path[96];

static int describe(const char *path, struct stat *status, struct fuse_file_info *info) {
    memset(status, 0, sizeof *status);
    if (strcmp(path, "/") == 0) {
        status->st_mode = S_IFDIR | 0755;
        return 0;
    }
    if (strcmp(path, "/slow") != 0) return -ENOENT;
    status->st_mode = S_IFREG | 0444;
    status->st_size = 4096;
    return 0;
}

static int read_slowly(const char *path, char *buffer, size_t size, off_t offset, struct fuse_file_info *info) {
    if (offset >= 4096) return 0;
    usleep(600000);
    memset(buffer, 'x', size < 4096 ? size : 4096);
    return size < 4096 ? (int)size : 4096;
}

// Runs in the child after a fork: mounts the file system, and serves it until it is killed with its parent.
static void serve(void) {
    die_with_parent();
    struct fuse_operations operations = {.getattr = describe, .read = read_slowly};
    char *arguments[] = {"librarystalls", "-f", "-s", mount_point, NULL};
    int null = open("/dev/null", O_RDWR);
    dup2(null, STDERR_FILENO);
    _exit(fuse_main(4, arguments, &operations, NULL));
}

static void unmount(void) {
    umount2(mount_point, MNT_DETACH);
    rmdir(mount_point);
}

static const char *mount_slow_files(void) {
    if (access("/dev/fuse", R_OK | W_OK) != 0) return failed("/dev/fuse");
    strcpy(mount_point, "/var/tmp/librarystalls-XXXXXX");
    if (!mkdtemp(mount_point)) return failed("mkdtemp");
    snprintf(file_path, sizeof file_path, "%s/slow", mount_point);
    pid_t server = fork();
    if (server == 0) serve();
    for (int round = 0; round < 200; round++) {
        if (access(file_path, R_OK) == 0) return NULL;
        if (waitpid(server, NULL, WNOHANG) == server) break;
        usleep(10000);
    }
    rmdir(mount_point);
    return "FUSE does not mount";
}

int read_remote_file(moment end) {
    char text[4096];
    int file = open(file_path, O_RDONLY | O_CLOEXEC);
    ssize_t count = read(file, text, sizeof text);
    close(file);
    unmount();
    return (int)count;
}

static struct io_uring ring;
static int pipe_ends[2];

static const char *make_ring(void) {
    if (pipe2(pipe_ends, O_CLOEXEC) != 0) return failed("pipe");
    int code = io_uring_queue_init(8, &ring, 0);
    if (code == 0) return NULL;
    errno = -code;
    return failed("io_uring_setup");
}

static int write_byte(void *unused) { return (int)write(pipe_ends[1], "x", 1); }
static void write_late(moment end) { act_at(end, "writer", write_byte, NULL); }

int await_completion(moment end) {
    char byte;
    struct io_uring_cqe *completion;
    io_uring_prep_read(io_uring_get_sqe(&ring), pipe_ends[0], &byte, 1, 0);
    io_uring_submit(&ring);
    int code = io_uring_wait_cqe(&ring, &completion);
    if (code == 0) io_uring_cqe_seen(&ring, completion);
    return code;
}

static char library[80];

// Compiled at run time: the constructor is the code of a plug-in, which is outside the system's folders.
static const char *compile_plugin(const char *body) {
    char source[80], command[256];
    strcpy(library, "/var/tmp/librarystalls-XXXXXX");
    close(mkostemp(library, O_CLOEXEC));
    unlink(library);
    strcat(library, ".so");
    snprintf(source, sizeof source, "%.60s.c", library);
    FILE *file = fopen(source, "w");
    if (!file) return failed("/var/tmp");
    fputs(body, file);
    fclose(file);
    snprintf(command, sizeof command, "cc -O2 -g -shared -fPIC -o %s %s 2>/dev/null", library, source);
    int code = system(command);
    unlink(source);
    // The file must exist until the records are written, because names are read from it.
    remove_at_end(library);
    return code == 0 ? NULL : "no C compiler";
}

static const char *compile_slow_plugin(void) {
    return compile_plugin("#include <unistd.h>\n"
                          "int plugin_cache;\n"
                          "__attribute__((constructor)) void plugin_load_cache(void) { plugin_cache = usleep(600000) + 1; }\n");
}

int load_spelling_plugin(moment end) {
    void *handle = dlopen(library, RTLD_NOW);
    return handle == NULL;
}

const struct stall filesystem_stalls[] = {
    {"fuse-read", "syscall", "read_remote_file", NULL, NULL, "a read from a file system of another process", mount_slow_files,
     NULL, read_remote_file},
    {"io-uring-wait", "syscall", "await_completion", NULL, NULL, "io_uring_wait_cqe for a read that completes late", make_ring,
     write_late, await_completion},
    {"dlopen-constructor", "syscall", "plugin_load_cache", "load_spelling_plugin", NULL,
     "dlopen of a library whose constructor sleeps", compile_slow_plugin, NULL, load_spelling_plugin},
    {0},
};
