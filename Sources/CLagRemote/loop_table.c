#define _GNU_SOURCE
#include "clr_loop_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// MARK: Time

static int clr_counter_is_clock(void) {
#if defined(__x86_64__)
    static const char expected[] = "tsc\n";
#elif defined(__aarch64__)
    static const char expected[] = "arch_sys_counter\n";
#else
    return 0;
#endif
    char text[32] = {0};
    int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    ssize_t length = read(fd, text, sizeof(text) - 1);
    close(fd);
    return length == (ssize_t)sizeof(expected) - 1 && memcmp(text, expected, sizeof(expected) - 1) == 0;
}

// The clock and the counter at one moment: the least disturbed of several tries.
static void clr_read_clock_pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t before = clb_ticks(), now = clb_now_ns(), took = clb_ticks() - before;
        if (took >= best) continue;
        best = took;
        *ticks = before + took / 2;
        *ns = now;
    }
}

// From two pairs 5 ms apart: the error is some ns in 5 ms, so less than a microsecond in the time that a conversion is used.
static uint64_t clr_measure_scale(void) {
    if (!clr_counter_is_clock()) return 0;
    uint64_t ticks[2], ns[2];
    clr_read_clock_pair(&ticks[0], &ns[0]);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 5000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) continue;
    clr_read_clock_pair(&ticks[1], &ns[1]);
    if (ticks[1] <= ticks[0] || ns[1] <= ns[0]) return 0;
    for (uint32_t shift = 32; shift > 8; shift--) {
        unsigned __int128 multiplier = ((unsigned __int128)(ns[1] - ns[0]) << shift) / (ticks[1] - ticks[0]);
        if (multiplier != 0 && multiplier >> 32 == 0) return clb_loop_table_scale((uint32_t)multiplier, shift);
    }
    return 0;
}

void clr_loop_table_check_clock(clb_loop_table *table) {
    uint64_t scale = __atomic_load_n(&table->clock_scale, __ATOMIC_RELAXED);
    if (scale != 0 && !clr_counter_is_clock()) __atomic_store_n(&table->clock_scale, 0, __ATOMIC_RELAXED);
}

// MARK: Life

static void clr_loop_table_fill(clb_loop_table *memory, uint64_t parent_start) {
    memcpy(memory->magic, CLB_LOOP_TABLE_MAGIC, sizeof(memory->magic));
    memory->version = CLB_LOOP_TABLE_VERSION;
    memory->header_bytes = CLB_LOOP_TABLE_HEADER_BYTES;
    memory->slot_bytes = sizeof(clb_loop_table_slot);
    memory->slot_count = CLB_LOOP_TABLE_SLOTS;
    memory->beacon_bytes = sizeof(clb_beacon);
    memory->waker_bytes = sizeof(clb_waker);
    memory->total_bytes = clb_loop_table_bytes();
    memory->parent_pid = getpid();
    memory->parent_start = parent_start;
    memory->clock_scale = clr_measure_scale();
}

int clr_loop_table_create_unshared(clb_loop_table **table) {
    void *mapped = mmap(NULL, clb_loop_table_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return errno;
    clr_loop_table_fill(mapped, 0);
    *table = mapped;
    return 0;
}

int clr_loop_table_create(uint64_t parent_start, clb_loop_table **table, int *descriptor) {
    int fd = memfd_create("lagmonitor-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return errno;
    int error = 0;
    clb_loop_table *memory = NULL;
    if (ftruncate(fd, (off_t)clb_loop_table_bytes()) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        error = errno;
    } else {
        // All of it is allocated at the start, so that no later access by any process can fail for lack of memory.
        void *mapped = mmap(NULL, clb_loop_table_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (mapped == MAP_FAILED) error = errno;
        else memory = mapped;
    }
    if (error != 0) {
        if (memory != NULL) munmap(memory, clb_loop_table_bytes());
        close(fd);
        return error;
    }
    clr_loop_table_fill(memory, parent_start);
    *table = memory;
    *descriptor = fd;
    return 0;
}

void clr_loop_table_destroy(clb_loop_table *table, int descriptor) {
    munmap(table, clb_loop_table_bytes());
    if (descriptor >= 0) close(descriptor);
}

void clr_loop_table_path(int descriptor, char path[CLB_LOOP_TABLE_PATH_MAX]) {
    snprintf(path, CLB_LOOP_TABLE_PATH_MAX, "/proc/%d/fd/%d", getpid(), descriptor);
}

// MARK: Reading

int clr_loop_table_read(const clb_loop_table *table, uint32_t index, clr_loop_table_entry *loop) {
    if (index >= CLB_LOOP_TABLE_SLOTS) return 0;
    uint64_t claim = clb_loop_table_claim(table, index);
    uint32_t state = clb_claim_state(claim);
    if (state < CLB_SLOT_LIVE || state > CLB_SLOT_WITHDRAWN) return 0;
    // Copied once, and the copy is checked, because the slot may change at any time.
    clb_loop_table_slot slot;
    memcpy(&slot, clb_loop_table_slot_at(table, index), offsetof(clb_loop_table_slot, beacon));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t after = clb_loop_table_claim(table, index);
    // The loop may have ended meanwhile; a new generation is another loop.
    if (clb_claim_generation(after) != clb_claim_generation(claim) || clb_claim_pid(after) != clb_claim_pid(claim)) return 0;
    if (slot.kind != CLB_LOOP_FROM_PRELOAD && slot.kind != CLB_LOOP_FROM_MONITOR) return 0;
    if (slot.pid <= 0 || slot.tid <= 0 || slot.pid != clb_claim_pid(claim)) return 0;
    *loop = (clr_loop_table_entry){
        .claim = claim,
        .state = state,
        .kind = slot.kind,
        .pid = slot.pid,
        .tid = slot.tid,
        .claimed_ns = slot.claimed_ns,
        .wait_return = slot.wait_return,
        .wait_sp = slot.wait_sp,
        .inner_waits = slot.inner_waits,
        .changes = slot.changes,
    };
    memcpy(loop->name, slot.name, sizeof(loop->name));
    loop->name[sizeof(loop->name) - 1] = 0;
    memcpy(loop->modes, slot.modes, sizeof(loop->modes));
    loop->modes[sizeof(loop->modes) - 1] = 0;
    return 1;
}

uint64_t clr_loop_table_unfinished(const clb_loop_table *table, uint32_t index) {
    clr_loop_table_entry loop;
    uint64_t claim = clb_loop_table_claim(table, index);
    return clb_claim_state(claim) == CLB_SLOT_FREE || clr_loop_table_read(table, index, &loop) ? 0 : claim;
}

void clr_loop_table_wait_place(const clb_loop_table *table, uint32_t index, uint64_t *sp, int32_t *object) {
    const clb_loop_table_slot *slot = clb_loop_table_slot_at(table, index);
    *sp = __atomic_load_n(&slot->wait_sp, __ATOMIC_RELAXED);
    *object = __atomic_load_n(&slot->wait_object, __ATOMIC_RELAXED);
}

int clr_loop_table_has_fetcher(const clb_loop_table *table, uint32_t index, int32_t object, uint64_t since_ns) {
    int32_t process = clb_claim_pid(clb_loop_table_claim(table, index));
    for (uint32_t other = 0; other < CLB_LOOP_TABLE_SLOTS; other++) {
        uint64_t claim = clb_loop_table_claim(table, other);
        uint32_t state = clb_claim_state(claim);
        if (other == index || clb_claim_pid(claim) != process || (state != CLB_SLOT_LIVE && state != CLB_SLOT_PROVISIONAL)) continue;
        const clb_loop_table_slot *slot = clb_loop_table_slot_at(table, other);
        if (slot->kind != CLB_LOOP_FROM_PRELOAD || __atomic_load_n(&slot->wait_object, __ATOMIC_RELAXED) != object) continue;
        if (clb_beacon_woke_ns(&slot->beacon) >= since_ns) return 1;
    }
    return 0;
}

int clr_loop_table_free(clb_loop_table *table, uint32_t index, uint64_t claim) {
    if (index >= CLB_LOOP_TABLE_SLOTS) return 0;
    uint64_t *word = clb_loop_table_claim_word(table, index);
    uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (clb_claim_generation(found) == clb_claim_generation(claim) && clb_claim_pid(found) == clb_claim_pid(claim)) {
        if (clb_claim_state(found) == CLB_SLOT_FREE) return 1;
        uint64_t freed = clb_claim_with_state(found, CLB_SLOT_FREE);
        if (__atomic_compare_exchange_n(word, &found, freed, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 1;
    }
    return 0;
}
