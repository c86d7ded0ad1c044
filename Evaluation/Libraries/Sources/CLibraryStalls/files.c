// Files, directories, and the C library's lookups of names.
#include "tables.h"

#include <aio.h>
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { mapped_bytes = 96 << 20 };
static int file;
static char path[PATH_MAX], deep_folder[64];
static unsigned char *mapping;
static long found;

static const char *map_file(void) {
    file = scratch_file(mapped_bytes, NULL);
    if (file < 0) return failed("/var/tmp");
    mapping = mmap(NULL, mapped_bytes, PROT_READ, MAP_SHARED, file, 0);
    if (mapping == MAP_FAILED) return failed("mmap");
    madvise(mapping, mapped_bytes, MADV_RANDOM);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return NULL;
}

static const char *make_file(void) {
    file = scratch_file(8 << 20, NULL);
    return file < 0 ? failed("/var/tmp") : NULL;
}

static int visit_entry(const char *name, const struct stat *status, int kind, struct FTW *place) {
    found += status->st_size;
    return 0;
}

static int accept_name(const struct dirent *entry) { return entry->d_name[0] != '.'; }

static const char *make_deep_folder(void) {
    strcpy(deep_folder, "/var/tmp/librarystalls-XXXXXX");
    if (!mkdtemp(deep_folder)) return failed("mkdtemp");
    strcpy(path, deep_folder);
    for (int depth = 0; depth < 300; depth++) {
        strcat(path, "/folder");
        if (mkdir(path, 0700) != 0) return failed("mkdir");
    }
    return NULL;
}

static void remove_deep_folder(void) {
    for (size_t length = strlen(path); length >= strlen(deep_folder); length -= strlen("/folder")) {
        path[length] = 0;
        rmdir(path);
    }
}

int measure_folder(moment end) {
    while (moment_now() < end) nftw("/usr/share/doc", visit_entry, 16, FTW_PHYS);
    return (int)found;
}

int list_libraries(moment end) {
    while (moment_now() < end) {
        struct dirent **entries;
        int count = scandir("/usr/share/doc", &entries, accept_name, alphasort);
        for (int index = 0; index < count; index++) free(entries[index]);
        if (count > 0) free(entries);
        found += count;
    }
    return (int)found;
}

int resolve_path(moment end) {
    char resolved[PATH_MAX];
    while (moment_now() < end) found += realpath(path, resolved) != NULL;
    remove_deep_folder();
    return (int)found;
}

int scan_cold_archive(moment end) {
    size_t page = 0, sum = 0;
    while (moment_now() < end) {
        page = (page + 10007) % (mapped_bytes / 4096);
        sum += mapping[page * 4096];
        if (++found % 20000 == 0) {
            madvise(mapping, mapped_bytes, MADV_DONTNEED);
            posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        }
    }
    return (int)sum;
}

int find_account(moment end) {
    while (moment_now() < end) found += getpwnam("no-such-account") != NULL;
    return (int)found;
}

int list_groups_of_user(moment end) {
    gid_t groups[64];
    while (moment_now() < end) {
        int count = 64;
        found += getgrouplist("nobody", 65534, groups, &count);
    }
    return (int)found;
}

int write_journal_pages(moment end) {
    static char page[4096];
    while (moment_now() < end) {
        pwrite(file, page, sizeof page, (off_t)(found++ % 2000) * 4096);
        fdatasync(file);
    }
    return (int)found;
}

int flush_ledger(moment end) {
    static char page[4096];
    static struct aiocb request;
    const struct aiocb *const list[] = {&request};
    while (moment_now() < end) {
        request = (struct aiocb){.aio_fildes = file, .aio_buf = page, .aio_nbytes = sizeof page, .aio_offset = (found++ % 2000) * 4096};
        aio_write(&request);
        aio_suspend(list, 1, NULL);
        aio_return(&request);
        aio_fsync(O_DSYNC, &request);
        aio_suspend(list, 1, NULL);
        aio_return(&request);
    }
    return (int)found;
}

static char fifo[64];

static const char *make_fifo(void) {
    close(scratch_file(0, fifo));
    unlink(fifo);
    return mkfifo(fifo, 0600) == 0 ? NULL : failed("mkfifo");
}

static int open_for_writing(void *unused) {
    int opened = open(fifo, O_WRONLY | O_CLOEXEC);
    unlink(fifo);
    return opened;
}

static void write_late(moment end) { act_at(end, "writer", open_for_writing, NULL); }

int open_control_file(moment end) {
    FILE *control = fopen(fifo, "r");
    if (!control) return -1;
    fclose(control);
    return 0;
}

const struct stall file_stalls[] = {
    {"nftw", "cpu|syscall", "measure_folder", NULL, NULL, "a walk over many files: mostly time in the kernel", NULL, NULL,
     measure_folder},
    {"scandir", "cpu|syscall", "list_libraries", NULL, NULL, "scandir with alphasort", NULL, NULL, list_libraries},
    {"realpath-long", "cpu|syscall", "resolve_path", NULL, NULL, "realpath of a path with 300 levels", make_deep_folder, NULL,
     resolve_path},
    {"mmap-cold-file", "page_fault", "scan_cold_archive", NULL, NULL, "a mapped file that is not in memory, read in scattered order",
     map_file, NULL, scan_cold_archive, 1},
    {"nss-getpwnam", "cpu|syscall", "find_account", NULL, NULL, "getpwnam rereads the accounts each time", NULL, NULL,
     find_account},
    {"nss-getgrouplist", "cpu|syscall", "list_groups_of_user", NULL, NULL, "getgrouplist queries all sources of groups", NULL,
     NULL, list_groups_of_user},
    {"fdatasync", "syscall", "write_journal_pages", NULL, NULL, "writes of one page, each with fdatasync", make_file, NULL,
     write_journal_pages, 1},
    // The C library waits in a futex for its own thread; for the program this is a wait for I/O.
    {"aio-suspend", "syscall|lock", "flush_ledger", NULL, NULL, "POSIX AIO with an immediate wait", make_file, NULL, flush_ledger,
     1},
    {"fopen-fifo", "syscall", "open_control_file", NULL, NULL, "fopen of a named pipe that has no writer yet", make_fifo,
     write_late, open_control_file},
    {0},
};
