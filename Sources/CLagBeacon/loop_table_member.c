// The watched processes' side of the shared loop table. The preloaded library uses this file, too, and its
// constructor runs it in every program below lagmond, so it neither waits nor allocates.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "clb_loop_table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static clb_loop_table *opened_table;

// Whether a path is /proc/<number>/fd/<number>; returns the first number. Anything else may be a pipe that blocks or
// a device with side effects.
static int32_t clb_loop_table_path_pid(const char *path) {
    static const char *const parts[] = {"/proc/", "/fd/"};
    int64_t numbers[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        size_t length = strlen(parts[part]);
        if (strncmp(path, parts[part], length) != 0) return 0;
        path += length;
        const char *digits = path;
        for (; *path >= '0' && *path <= '9' && path - digits < 10; path++) numbers[part] = numbers[part] * 10 + (*path - '0');
        if (path == digits || numbers[part] > INT32_MAX) return 0;
    }
    return *path == 0 ? (int32_t)numbers[0] : 0;
}

static int clb_loop_table_is_ours(const clb_loop_table *table, int32_t parent) {
    return memcmp(table->magic, CLB_LOOP_TABLE_MAGIC, sizeof(table->magic)) == 0 && table->version == CLB_LOOP_TABLE_VERSION
        && table->header_bytes == CLB_LOOP_TABLE_HEADER_BYTES && table->slot_bytes == sizeof(clb_loop_table_slot)
        && table->slot_count == CLB_LOOP_TABLE_SLOTS && table->beacon_bytes == sizeof(clb_beacon)
        && table->waker_bytes == sizeof(clb_waker) && table->total_bytes == clb_loop_table_bytes() && table->parent_pid == parent;
}

// Whether this process's own pid is the one that /proc shows: false in a pid namespace that kept its parent's /proc.
static int clb_loop_table_sees_own_number(void) {
    char text[16] = {0};
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == getpid();
}

clb_loop_table *clb_loop_table_open(const char *path) {
    int32_t parent = clb_loop_table_path_pid(path);
    if (parent == 0 || !clb_loop_table_sees_own_number()) {
        errno = parent == 0 ? EINVAL : EXDEV;
        return NULL;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return NULL;
    struct stat status;
    clb_loop_table *table = NULL;
    int error = EPROTO;
    // Only a memfd has seals; with these two its memory cannot shrink, so nothing here can fault.
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & F_SEAL_GROW) != 0 && fstat(fd, &status) == 0
        && status.st_size == (off_t)clb_loop_table_bytes()) {
        void *memory = mmap(NULL, clb_loop_table_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) error = errno;
        else table = memory;
    }
    close(fd);
    if (table != NULL && !clb_loop_table_is_ours(table, parent)) {
        munmap(table, clb_loop_table_bytes());
        table = NULL;
    }
    if (table == NULL) errno = error;
    else __atomic_store_n(&opened_table, table, __ATOMIC_RELEASE);
    return table;
}

clb_waker *clb_loop_table_waker_of(const clb_beacon *beacon) {
    clb_loop_table *table = __atomic_load_n(&opened_table, __ATOMIC_ACQUIRE);
    if (table == NULL || (uintptr_t)beacon - (uintptr_t)table >= clb_loop_table_bytes()) return NULL;
    return &table->waker;
}

static void clb_loop_table_post(clb_loop_table *table) { clb_waker_post_shared(&table->waker); }

int32_t clb_loop_table_claim_slot(clb_loop_table *table, uint32_t kind, int32_t pid, uint32_t hint, uint64_t now_ns, uint64_t *claim) {
    for (uint32_t step = 0; step < CLB_LOOP_TABLE_SLOTS; step++) {
        uint32_t index = (hint + step) % CLB_LOOP_TABLE_SLOTS;
        uint64_t *word = clb_loop_table_claim_word(table, index);
        uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (clb_claim_state(found) != CLB_SLOT_FREE) continue;
        uint64_t mine = (uint64_t)(clb_claim_generation(found) + 1) << 40 | (uint64_t)CLB_SLOT_CLAIMED << 32 | (uint32_t)pid;
        if (!__atomic_compare_exchange_n(word, &found, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
        clb_loop_table_slot *slot = clb_loop_table_slot_at(table, index);
        // The sequence continues, so that no two loops of a slot ever have the same word.
        uint64_t sequence = (__atomic_load_n(&slot->beacon.word, __ATOMIC_RELAXED) >> 8) + 1;
        memset(slot, 0, sizeof(*slot));
        slot->kind = kind;
        slot->pid = pid;
        slot->claimed_ns = now_ns;
        slot->beacon.callout_ns = now_ns;
        slot->beacon.woke_ns = now_ns;
        slot->beacon.waker = &table->waker;
        __atomic_store_n(&slot->beacon.word, sequence << 8 | CLB_ACTIVITY_NOT_RUNNING, __ATOMIC_RELAXED);
        *claim = mine;
        clb_loop_table_post(table);
        return (int32_t)index;
    }
    __atomic_fetch_add(&table->refused, 1, __ATOMIC_RELAXED);
    return -1;
}

void clb_loop_table_publish(clb_loop_table *table, uint32_t index, uint32_t state, uint64_t *claim) {
    uint64_t expected = *claim, published = clb_claim_with_state(expected, state);
    // A different claim here means damage; then the slot simply does not belong to this process.
    __atomic_compare_exchange_n(clb_loop_table_claim_word(table, index), &expected, published, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    *claim = published;
    clb_loop_table_post(table);
}

void clb_loop_table_change(clb_loop_table *table, uint32_t index, uint64_t claim, uint32_t state) {
    uint64_t *word = clb_loop_table_claim_word(table, index);
    uint64_t found = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    uint64_t desired;
    do {
        uint32_t present = clb_claim_state(found);
        if (clb_claim_with_state(found, 0) != clb_claim_with_state(claim, 0) || present == CLB_SLOT_FREE) return;
        if (present == CLB_SLOT_ENDED || present == CLB_SLOT_WITHDRAWN || present == state) return;
        int is_withdrawn = present == CLB_SLOT_PROVISIONAL && state == CLB_SLOT_ENDED;
        desired = clb_claim_with_state(claim, is_withdrawn ? CLB_SLOT_WITHDRAWN : state);
    } while (!__atomic_compare_exchange_n(word, &found, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    clb_loop_table_post(table);
}

void clb_loop_table_end_all(clb_loop_table *table, int32_t pid, uint32_t kind) {
    for (uint32_t index = 0; index < CLB_LOOP_TABLE_SLOTS; index++) {
        uint64_t claim = __atomic_load_n(clb_loop_table_claim_word(table, index), __ATOMIC_ACQUIRE);
        if (clb_claim_pid(claim) != pid || (kind != 0 && clb_loop_table_slot_at(table, index)->kind != kind)) continue;
        clb_loop_table_end(table, index, claim);
    }
}

uint64_t clb_ticker_ask(clb_ticker *ticker, const clb_loop_table *table) {
    ticker->scale = __atomic_load_n(&table->clock_scale, __ATOMIC_RELAXED);
    if (ticker->scale == 0) return clb_now_ns();
    uint64_t before = clb_ticks();
    uint64_t now_ns = clb_now_ns();
    ticker->base_ticks = before + (clb_ticks() - before) / 2;
    ticker->base_ns = now_ns;
    return now_ns;
}
