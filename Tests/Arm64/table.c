// The shared loop table between two processes, and its clock.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "clb_mirror.h"
#include "clr_loop_table.h"

enum { CLAIMERS = 8, CLAIMS = CLB_LOOP_TABLE_SLOTS / CLAIMERS, ANSWERS = 300, CONTENDED_TURNS = 4000 };

static clb_loop_table *table;
static int *may_end;  // in memory of both processes

static void *claim_slots(void *number) {
    for (int index = 0; index < CLAIMS; index++) {
        uint64_t claim;
        int32_t slot = clb_loop_table_claim_slot(table, CLB_LOOP_FROM_MONITOR, getpid(), 0, clb_now_ns(), &claim);
        if (slot < 0) return (void *)1;
        clb_loop_table_slot *mine = clb_loop_table_slot_at(table, (uint32_t)slot);
        mine->tid = (int32_t)syscall(SYS_gettid);
        snprintf(mine->name, sizeof(mine->name), "%ld-%d", (long)number, index);
        clb_loop_table_publish(table, (uint32_t)slot, CLB_SLOT_LIVE, &claim);
    }
    return NULL;
}

// While a thread has a slot, no other thread gets it.
static void *contend(void *number) {
    for (int turn = 0; turn < CONTENDED_TURNS; turn++) {
        uint64_t claim;
        int32_t slot = clb_loop_table_claim_slot(table, CLB_LOOP_FROM_MONITOR, getpid(), 0, clb_now_ns(), &claim);
        if (slot < 0) continue;
        volatile uint64_t *place = &clb_loop_table_slot_at(table, (uint32_t)slot)->wait_return;
        *place = (uint64_t)(uintptr_t)number + 1;
        for (int look = 0; look < 100; look++) {
            if (*place != (uint64_t)(uintptr_t)number + 1) return (void *)1;
        }
        clr_loop_table_free(table, (uint32_t)slot, claim);
    }
    return NULL;
}

static int run_claimers(void *(*run)(void *)) {
    pthread_t threads[CLAIMERS];
    int failed = 0;
    for (long number = 0; number < CLAIMERS; number++) pthread_create(&threads[number], NULL, run, (void *)number);
    for (int number = 0; number < CLAIMERS; number++) {
        void *result;
        pthread_join(threads[number], &result);
        failed |= result != NULL;
    }
    return failed;
}

// In the child: several threads claim all slots at the same time, then one loop alternates between work and rest.
static int child(const char *path) {
    table = clb_loop_table_open(path);
    if (table == NULL) return 1;
    if (run_claimers(contend)) return 3;
    __atomic_store_n(&table->refused, 0, __ATOMIC_RELAXED);
    uint64_t claim;
    if (run_claimers(claim_slots) || clb_loop_table_claim_slot(table, CLB_LOOP_FROM_MONITOR, getpid(), 0, clb_now_ns(), &claim) >= 0) return 2;
    clb_beacon *beacon = clb_loop_table_beacon(table, 0);
    for (int turn = 0; !__atomic_load_n(may_end, __ATOMIC_ACQUIRE); turn++) {
        // Sometimes long enough that the other process falls asleep.
        if (turn % 16 == 0) usleep(2000);
        clb_beacon_wake_shared(beacon, CLB_ACTIVITY_AFTER_WAITING, clb_now_ns());
        clb_beacon_publish_shared(beacon, CLB_ACTIVITY_WAITING);
    }
    clb_beacon_publish_shared(beacon, CLB_ACTIVITY_FINISHED);
    return 0;
}

// Arms the child's loop repeatedly. Each time, the child must wake this process.
static int arm_until_finished(clb_beacon *beacon, int *answers, int *backwards) {
    uint64_t last = 0;
    for (;;) {
        clb_beacon_rearm(beacon, CLB_ARMED_ANY);
        uint64_t word = clb_beacon_word(beacon);
        *backwards += word < last;
        last = word;
        if ((uint8_t)word == CLB_ACTIVITY_FINISHED) return 1;
        if (!clb_waker_wait_shared(clb_loop_table_waker(table), clb_now_ns() + UINT64_C(10000000000))) return 0;
        clb_waker_drain(clb_loop_table_waker(table));
        if (++*answers == ANSWERS) __atomic_store_n(may_end, 1, __ATOMIC_RELEASE);
    }
}

static void check_table(void) {
    int descriptor;
    char path[CLB_LOOP_TABLE_PATH_MAX];
    int error = clr_loop_table_create(1, &table, &descriptor);
    if (!check(error == 0, "table-created", "%s", strerror(error))) return;
    clr_loop_table_path(descriptor, path);
    may_end = mmap(NULL, sizeof(*may_end), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t process = fork();
    if (process == 0) _exit(child(path));
    // Wait until all slots are claimed permanently.
    clr_loop_table_entry entry;
    for (int wait = 0; wait < 2000 && !clr_loop_table_read(table, CLB_LOOP_TABLE_SLOTS - 1, &entry); wait++) usleep(5000);
    int answers = 0, backwards = 0, was_told = arm_until_finished(clb_loop_table_beacon(table, 0), &answers, &backwards), status = -1;
    if (!was_told) kill(process, SIGKILL);
    waitpid(process, &status, 0);
    check(status == 0, "table-claims-by-threads", "the child exited with %x", (unsigned)status);
    check(was_told && answers >= ANSWERS, "table-no-lost-wake-up", "%d answers, then none for 10 s", answers);
    check(backwards == 0, "table-words-in-order", "%d words went back", backwards);
    int seen = 0, twice = 0;
    char names[CLAIMERS][CLAIMS] = {{0}};
    for (uint32_t index = 0; index < CLB_LOOP_TABLE_SLOTS; index++) {
        int thread = -1, number = -1;
        if (!clr_loop_table_read(table, index, &entry) || entry.pid != process || entry.state != CLB_SLOT_LIVE) continue;
        if (sscanf(entry.name, "%d-%d", &thread, &number) != 2 || thread < 0 || thread >= CLAIMERS || number < 0 || number >= CLAIMS) continue;
        twice += names[thread][number]++;
        seen++;
    }
    check(seen == CLB_LOOP_TABLE_SLOTS && twice == 0, "table-slots-whole", "%d slots, %d twice", seen, twice);
    check(table->refused == 1, "table-counts-refused", "%d", (int)table->refused);
    int freed = 0;
    for (uint32_t index = 0; index < CLB_LOOP_TABLE_SLOTS; index++) freed += clr_loop_table_free(table, index, clb_loop_table_claim(table, index));
    check(freed == CLB_LOOP_TABLE_SLOTS && !clr_loop_table_read(table, 0, &entry), "table-slots-freed", "%d", freed);
    clr_loop_table_destroy(table, descriptor);
}

// Conversion of the processor's counter to time, over the interval in which the ticker does not read the clock.
static void check_clock(int has_kernel) {
    int descriptor;
    if (clr_loop_table_create(1, &table, &descriptor) != 0) return;
    if (has_kernel) check(table->clock_scale != 0, "clock-by-counter", "the kernel's clock does not use the counter");
    clb_ticker ticker = {0};
    uint64_t begin = clb_ticker_ask(&ticker, table), end = begin + 400000000, worst = 0, last = 0;
    int backwards = 0;
    while (clb_now_ns() < end) {
        uint64_t before = clb_now_ns(), now = clb_ticker_now_ns(&ticker, table), after = clb_now_ns();
        uint64_t off = now < before ? before - now : now > after ? now - after : 0;
        if (off > worst) worst = off;
        backwards += now + 100000 < last;
        last = now;
    }
    check(worst < 1000000, "clock-within-1-ms", "off by %ld ns", (long)worst);
    check(backwards == 0, "clock-not-backwards", "%d times", backwards);
    clr_loop_table_destroy(table, descriptor);
}

// A beacon of this process and its mirror in a table show the same.
static void check_mirror(void) {
    int descriptor;
    char path[CLB_LOOP_TABLE_PATH_MAX], modes[CLB_LOOP_TABLE_MODES_MAX] = "default";
    if (clr_loop_table_create(1, &table, &descriptor) != 0) return;
    clr_loop_table_path(descriptor, path);
    int error = clb_mirror_open_path(path);
    clb_beacon *beacon = clb_beacon_create();
    int accepted = clb_mirror_request(beacon, CLB_MIRROR_LIVE, "mirrored", modes);
    clb_beacon_wake(beacon, CLB_ACTIVITY_AFTER_WAITING, clb_now_ns());
    clb_beacon_publish(beacon, CLB_ACTIVITY_WAITING);
    clr_loop_table_entry entry;
    int found = clr_loop_table_read(table, 0, &entry);
    check(error == 0 && accepted && found && strcmp(entry.name, "mirrored") == 0
              && (uint8_t)clb_beacon_word(clb_loop_table_beacon(table, 0)) == CLB_ACTIVITY_WAITING,
          "mirror", "error %d, accepted %d, found %d", error, accepted, found);
}

static void check_stretch(void) {
    clb_beacon *beacon = clb_beacon_create();
    clb_beacon_limit(beacon, 1000);
    clb_beacon_wake(beacon, CLB_ACTIVITY_AFTER_WAITING, 10000);
    clb_beacon_begin(beacon, CLB_ACTIVITY_BEFORE_SOURCES, 10999);
    clb_beacon_begin(beacon, CLB_ACTIVITY_BEFORE_SOURCES, 11999);
    clb_beacon_stretch stretch = {0};
    int found = clb_beacon_read_stretch(beacon, 1, &stretch);
    check(clb_beacon_stretch_count(beacon) == 1 && found && stretch.since_ns == 10999 && stretch.until_ns == 11999, "beacon-records-stretch",
          "%d, %ld to %ld", clb_beacon_stretch_count(beacon), (long)stretch.since_ns, (long)stretch.until_ns);
}

// table [kernel]. `kernel`: runs on a real kernel, not in qemu-user.
int main(int count, char **arguments) {
    int has_kernel = count > 1 && strcmp(arguments[1], "kernel") == 0;
    check(sizeof(clb_beacon) == 128 && sizeof(clb_loop_table_slot) == 256 && clb_loop_table_bytes() == 4096 + 256 * 256, "layouts", "%d %d %d",
          (int)sizeof(clb_beacon), (int)sizeof(clb_loop_table_slot), (int)clb_loop_table_bytes());
    check_stretch();
    check_table();
    check_clock(has_kernel);
    check_mirror();
    return checks_failed;
}
