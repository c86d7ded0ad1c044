// Locks and queues that another process holds or fills. No memory of this process names that process.
#include "tables.h"

#include <fcntl.h>
#include <mqueue.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <unistd.h>

static char path[64];
static int file, queue, set;
static mqd_t posix_queue;

static int open_shared(void) { return open(path, O_RDWR | O_CLOEXEC); }

// A separately opened file, to which the lock belongs.
static int other_file;

static int take_flock(void *unused) {
    other_file = open_shared();
    return flock(other_file, LOCK_EX);
}

static int give_file(void *unused) { return close(other_file); }

static int take_record(void *unused) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    other_file = open_shared();
    return fcntl(other_file, F_SETLK, &lock);
}

static const char *with_file(action take) {
    if (scratch_file(1 << 16, path) < 0) return failed("/var/tmp");
    file = open_shared();
    const char *reason = take_in_other_process(take, give_file, NULL);
    unlink(path);
    return reason;
}

static const char *flock_elsewhere(void) { return with_file(take_flock); }
static const char *record_lock_elsewhere(void) { return with_file(take_record); }

int open_mailbox(moment end) {
    int code = flock(file, LOCK_EX);
    flock(file, LOCK_UN);
    return code;
}

int reserve_record(moment end) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 10};
    int code = fcntl(file, F_SETLKW, &lock);
    close(file);
    return code;
}

int rotate_spool(moment end) {
    int code = lockf(file, F_LOCK, 0);
    close(file);
    return code;
}

struct order {
    long kind;
    char text[16];
};

static int nothing(void *unused) { return 0; }

static int send_order(void *unused) {
    struct order order = {1, "order"};
    return msgsnd(queue, &order, sizeof order.text, 0);
}

// Both scenarios remove their queue after the wait, because these queues outlive processes.
static const char *make_queue(void) {
    queue = msgget(IPC_PRIVATE, 0600);
    return queue < 0 ? failed("msgget") : take_in_other_process(nothing, send_order, NULL);
}

int fetch_order(moment end) {
    struct order order;
    ssize_t length = msgrcv(queue, &order, sizeof order.text, 0, 0);
    msgctl(queue, IPC_RMID, NULL);
    return (int)length;
}

static int raise_set(void *unused) {
    struct sembuf up = {0, 1, 0};
    return semop(set, &up, 1);
}

static const char *make_set(void) {
    set = semget(IPC_PRIVATE, 1, 0600);
    return set < 0 ? failed("semget") : take_in_other_process(nothing, raise_set, NULL);
}

int enter_shared_cache(moment end) {
    struct sembuf down = {0, -1, 0};
    int code = semop(set, &down, 1);
    semctl(set, 0, IPC_RMID);
    return code;
}

static int send_posix(void *unused) { return mq_send(posix_queue, "job", 4, 0); }

static const char *make_posix_queue(void) {
    struct mq_attr attributes = {.mq_maxmsg = 2, .mq_msgsize = 16};
    char name[40];
    snprintf(name, sizeof name, "/librarystalls-%d", (int)getpid());
    posix_queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600, &attributes);
    if (posix_queue == (mqd_t)-1) return failed("mq_open");
    mq_unlink(name);
    return take_in_other_process(nothing, send_posix, NULL);
}

int fetch_print_job(moment end) {
    char job[16];
    ssize_t length = mq_receive(posix_queue, job, sizeof job, NULL);
    return (int)length;
}

const struct stall process_lock_stalls[] = {
    // These are locks, but their owner is not a thread of this process.
    {"flock-other-process", "syscall|lock", "open_mailbox", NULL, NULL, "flock on a file that another process has locked",
     flock_elsewhere, release_other_process, open_mailbox},
    {"fcntl-other-process", "syscall|lock", "reserve_record", NULL, NULL, "a record lock that another process holds",
     record_lock_elsewhere, release_other_process, reserve_record},
    {"lockf-other-process", "syscall|lock", "rotate_spool", NULL, NULL, "lockf on a file that another process has locked",
     record_lock_elsewhere, release_other_process, rotate_spool},
    {"sysv-queue", "syscall", "fetch_order", NULL, NULL, "msgrcv from a queue to which another process writes late", make_queue,
     release_other_process, fetch_order},
    {"sysv-semaphore", "syscall|lock", "enter_shared_cache", NULL, NULL, "semop on a semaphore that another process raises late",
     make_set, release_other_process, enter_shared_cache},
    {"posix-queue", "syscall", "fetch_print_job", NULL, NULL, "mq_receive from a queue to which another process writes late",
     make_posix_queue, release_other_process, fetch_print_job},
    {0},
};
