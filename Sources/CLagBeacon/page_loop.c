// The shared page from the side of the processes that are watched. Needs nothing but libc: the preloaded library is built from
// this file, too, and its constructor runs this in every program below lagmond, so it neither waits nor takes memory.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "clb_page.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static clb_page *opened_page;

// Whether a path is /proc/<number>/fd/<number>; the first number. Anything else may be a pipe that waits or a device that acts.
static int32_t clb_page_path_pid(const char *path) {
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

static int clb_page_is_ours(const clb_page *page, int32_t parent) {
    return memcmp(page->magic, CLB_PAGE_MAGIC, sizeof(page->magic)) == 0 && page->version == CLB_PAGE_VERSION
        && page->header_bytes == CLB_PAGE_HEADER_BYTES && page->slot_bytes == sizeof(clb_page_slot)
        && page->slot_count == CLB_PAGE_SLOTS && page->beacon_bytes == sizeof(clb_beacon)
        && page->waker_bytes == sizeof(clb_waker) && page->total_bytes == clb_page_bytes() && page->parent_pid == parent;
}

// Whether the numbers that this process sees are those that /proc shows: they are not in a pid namespace that kept its parent's /proc.
static int clb_page_sees_own_number(void) {
    char text[16] = {0};
    return readlink("/proc/self", text, sizeof(text) - 1) > 0 && atoi(text) == getpid();
}

clb_page *clb_page_open(const char *path) {
    int32_t parent = clb_page_path_pid(path);
    if (parent == 0 || !clb_page_sees_own_number()) {
        errno = parent == 0 ? EINVAL : EXDEV;
        return NULL;
    }
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return NULL;
    struct stat status;
    clb_page *page = NULL;
    int error = EPROTO;
    // Only a memfd has seals; with these two its memory stays where it is, so that nothing here can ever fault.
    int seals = fcntl(fd, F_GET_SEALS);
    if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & F_SEAL_GROW) != 0 && fstat(fd, &status) == 0
        && status.st_size == (off_t)clb_page_bytes()) {
        void *memory = mmap(NULL, clb_page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (memory == MAP_FAILED) error = errno;
        else page = memory;
    }
    close(fd);
    if (page != NULL && !clb_page_is_ours(page, parent)) {
        munmap(page, clb_page_bytes());
        page = NULL;
    }
    if (page == NULL) errno = error;
    else __atomic_store_n(&opened_page, page, __ATOMIC_RELEASE);
    return page;
}

clb_waker *clb_page_waker_of(const clb_beacon *beacon) {
    clb_page *page = __atomic_load_n(&opened_page, __ATOMIC_ACQUIRE);
    if (page == NULL || (uintptr_t)beacon - (uintptr_t)page >= clb_page_bytes()) return NULL;
    return &page->waker;
}

static void clb_page_post(clb_page *page) {
    int saved = errno;
    sem_post(&page->waker.semaphore);
    errno = saved;
}

int32_t clb_page_claim_slot(clb_page *page, uint32_t kind, int32_t pid, uint32_t hint, uint64_t now_ns, uint64_t *claim) {
    for (uint32_t step = 0; step < CLB_PAGE_SLOTS; step++) {
        uint32_t index = (hint + step) % CLB_PAGE_SLOTS;
        uint64_t *word = clb_page_claim_word(page, index);
        uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
        if (clb_claim_state(found) != CLB_SLOT_FREE) continue;
        uint64_t mine = (uint64_t)(clb_claim_generation(found) + 1) << 40 | (uint64_t)CLB_SLOT_CLAIMED << 32 | (uint32_t)pid;
        if (!__atomic_compare_exchange_n(word, &found, mine, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) continue;
        clb_page_slot *slot = clb_page_slot_at(page, index);
        // The sequence goes on, so that no two loops of a slot ever show the same word.
        uint64_t sequence = (__atomic_load_n(&slot->beacon.word, __ATOMIC_RELAXED) >> 8) + 1;
        memset(slot, 0, sizeof(*slot));
        slot->kind = kind;
        slot->pid = pid;
        slot->claimed_ns = now_ns;
        slot->beacon.callout_ns = now_ns;
        slot->beacon.woke_ns = now_ns;
        slot->beacon.waker = &page->waker;
        __atomic_store_n(&slot->beacon.word, sequence << 8 | CLB_ACTIVITY_NOT_RUNNING, __ATOMIC_RELAXED);
        *claim = mine;
        return (int32_t)index;
    }
    __atomic_fetch_add(&page->refused, 1, __ATOMIC_RELAXED);
    return -1;
}

void clb_page_publish(clb_page *page, uint32_t index, uint64_t *claim) {
    uint64_t expected = *claim, live = clb_claim_with_state(expected, CLB_SLOT_LIVE);
    // Somebody else's word here would be damage; then the slot is simply not ours.
    __atomic_compare_exchange_n(clb_page_claim_word(page, index), &expected, live, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    *claim = live;
    clb_page_post(page);
}

void clb_page_change(clb_page *page, uint32_t index, uint64_t claim, uint32_t state) {
    uint64_t *word = clb_page_claim_word(page, index);
    uint64_t found = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    do {
        uint32_t present = clb_claim_state(found);
        if (clb_claim_with_state(found, 0) != clb_claim_with_state(claim, 0) || present == CLB_SLOT_FREE) return;
        if (present == CLB_SLOT_ENDED || present == state) return;
    } while (!__atomic_compare_exchange_n(
        word, &found, clb_claim_with_state(claim, state), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST
    ));
    clb_page_post(page);
}

void clb_page_end_all(clb_page *page, int32_t pid, uint32_t kind) {
    for (uint32_t index = 0; index < CLB_PAGE_SLOTS; index++) {
        uint64_t claim = __atomic_load_n(clb_page_claim_word(page, index), __ATOMIC_ACQUIRE);
        if (clb_claim_pid(claim) != pid || (kind != 0 && clb_page_slot_at(page, index)->kind != kind)) continue;
        clb_page_end(page, index, claim);
    }
}

uint64_t clb_ticker_ask(clb_ticker *ticker, const clb_page *page) {
    ticker->scale = __atomic_load_n(&page->clock_scale, __ATOMIC_RELAXED);
    if (ticker->scale == 0) return clb_now_ns();
    uint64_t before = clb_ticks();
    uint64_t now_ns = clb_now_ns();
    ticker->base_ticks = before + (clb_ticks() - before) / 2;
    ticker->base_ns = now_ns;
    return now_ns;
}
