#define _GNU_SOURCE
#include "stall_corpus.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static int raise_loopback(void) {
    int descriptor = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) return errno;
    struct ifreq request;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_RUNNING;
    int code = ioctl(descriptor, SIOCSIFFLAGS, &request) == 0 ? 0 : errno;
    close(descriptor);
    return code;
}

int corpus_own_resolver(const char *path) {
    int flags = CLONE_NEWNS | CLONE_NEWNET | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (unshare(flags) != 0) return errno;
    int code = raise_loopback();
    if (code != 0) return code;
    // Mounts here must not reach the original namespace.
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) return errno;
    return mount(path, "/etc/resolv.conf", NULL, MS_BIND, NULL) == 0 ? 0 : errno;
}

int corpus_pin_thread(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0 ? 0 : errno;
}

int corpus_lower_thread(void) {
    struct sched_param none = {0};
    if (sched_setscheduler(0, SCHED_OTHER, &none) != 0) return errno;
    return setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 5) == 0 ? 0 : errno;
}

void corpus_prefer_thread(int step) {
    struct sched_param priority = {.sched_priority = step > 0 ? sched_get_priority_min(SCHED_RR) + step - 1 : 0};
    sched_setscheduler(0, step > 0 ? SCHED_RR : SCHED_OTHER, &priority);
}

int corpus_first_processor(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return -1;
    for (int processor = 0; processor < CPU_SETSIZE; processor++) {
        if (CPU_ISSET(processor, &set)) return processor;
    }
    return -1;
}

int corpus_processors(void) {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

int corpus_pipe(int ends[2]) { return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno; }

struct rusage corpus_thread_usage(void) {
    struct rusage usage;
    memset(&usage, 0, sizeof usage);
    getrusage(RUSAGE_THREAD, &usage);
    return usage;
}

int corpus_open_direct(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_DIRECT);
    return descriptor >= 0 ? descriptor : -errno;
}
