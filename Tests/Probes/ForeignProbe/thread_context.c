// `ForeignProbe context HOW`: a program that publishes what its threads work on. Tests also compile it, with the writer in a library.
#define _GNU_SOURCE
#include "otel_writer.h"
#include "probes.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef WRITER_LIBRARY
#include <dlfcn.h>

static void *library(void) {
    void *loaded = dlopen(WRITER_LIBRARY, RTLD_NOW);
    if (loaded == NULL) fprintf(stderr, "%s\n", dlerror()), exit(1);
    return loaded;
}

#define WRITER(name) ((__typeof__(&name))dlsym(library(), #name))
#else
#define WRITER(name) name
#endif

static const char *const keys[] = {"http_route", "http_method", "user"};
static const uint8_t trace[16] = {0x0a, 0xf7, 0x65, 0x19, 0x16, 0xcd, 0x43, 0xdd, 0x84, 0x48, 0xeb, 0x21, 0x1c, 0x80, 0x31, 0x9c};
static const uint8_t span[8] = {0xb7, 0xad, 0x6b, 0x71, 0x69, 0x20, 0x33, 0x31};
// One value for each name, one without a known name, the user again, and a truncated entry.
static const uint8_t attributes[] = "\x00\x0b/orders/:id\x01\x03GET\x02\x04\x61nna\x09\x01x\x02\x03\x62ob\x00\x20/";

static volatile uint64_t work;

static void compute(void) {
    for (;;) work = work * 31 + 7;
}

static void *be_at_it(void *how) {
    WRITER(writer_attach)(trace, span, attributes, sizeof(attributes) - 1);
    if (strcmp(how, "detached") == 0) WRITER(writer_detach)();
    printf("%d\n", (int)syscall(SYS_gettid));
    fflush(stdout);
    if (strcmp(how, "computing") == 0) compute();
    for (;;) sleep(600);
    return NULL;
}

__attribute__((noinline)) void handler_in_context(int is_computing, int milliseconds) {
    WRITER(writer_attach)(trace, span, attributes, sizeof(attributes) - 1);
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (!is_computing) usleep((useconds_t)milliseconds * 1000);
    do {
        work++;
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (is_computing && (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < milliseconds);
    WRITER(writer_detach)();
}

int run_thread_context(int count, char **arguments) {
    const char *how = count > 1 ? arguments[1] : "";
    int naming = count > 2 ? atoi(arguments[2]) : WRITER_MEMFD_NAMED;
    const char *schema = count > 3 ? arguments[3] : "tlsdesc_v1_dev";
    if (WRITER(writer_publish)(naming, "another", NULL, 0) != 0) return 1;
    if (WRITER(writer_publish)(naming, schema, keys, sizeof(keys) / sizeof(keys[0])) != 0) return 1;
    if (strcmp(how, "main") == 0) be_at_it("sleeping");
    if (strcmp(how, "loop-sleeping") != 0 && strcmp(how, "loop-computing") != 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, be_at_it, (void *)how);
        pthread_join(thread, NULL);
    }
    int milliseconds = count > 4 ? atoi(arguments[4]) : 400;
    int set = epoll_create1(EPOLL_CLOEXEC);
    for (int turns = 0;; turns++) {
        struct epoll_event event;
        epoll_wait(set, &event, 1, 5);
        if (turns % 60 == 40) handler_in_context(strcmp(how, "loop-computing") == 0, milliseconds);
    }
    return 0;
}

#ifdef THREAD_CONTEXT_MAIN
int main(int count, char **arguments) { return run_thread_context(count, arguments); }
#endif
