// The shared page from lagmond's side.
#define _GNU_SOURCE
#include "clu_page.h"
#include "clu_procfs.h"
#include "procfs_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

// MARK: Time

static int clu_counter_is_clock(void) {
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

// The clock and the counter at one moment: of some tries the one that was disturbed least.
static void clu_read_pair(uint64_t *ticks, uint64_t *ns) {
    uint64_t best = UINT64_MAX;
    for (int attempt = 0; attempt < 16; attempt++) {
        uint64_t before = clu_ticks(), now = clu_now_ns(), took = clu_ticks() - before;
        if (took >= best) continue;
        best = took;
        *ticks = before + took / 2;
        *ns = now;
    }
}

// Two pairs 5 ms apart: off by some ns in 5 ms, so by less than a microsecond in the time that a conversion is used for.
static uint64_t clu_measure_scale(void) {
    if (!clu_counter_is_clock()) return 0;
    uint64_t ticks[2], ns[2];
    clu_read_pair(&ticks[0], &ns[0]);
    struct timespec pause = {.tv_sec = 0, .tv_nsec = 5000000};
    while (nanosleep(&pause, &pause) != 0 && errno == EINTR) continue;
    clu_read_pair(&ticks[1], &ns[1]);
    if (ticks[1] <= ticks[0] || ns[1] <= ns[0]) return 0;
    for (uint32_t shift = 32; shift > 8; shift--) {
        unsigned __int128 multiplier = ((unsigned __int128)(ns[1] - ns[0]) << shift) / (ticks[1] - ticks[0]);
        if (multiplier != 0 && multiplier >> 32 == 0) return clu_page_scale((uint32_t)multiplier, shift);
    }
    return 0;
}

void clu_page_check_clock(clu_page *page) {
    uint64_t scale = __atomic_load_n(&page->clock_scale, __ATOMIC_RELAXED);
    if (scale != 0 && !clu_counter_is_clock()) __atomic_store_n(&page->clock_scale, 0, __ATOMIC_RELAXED);
}

// MARK: Life

int clu_page_create(clu_page **page, int *descriptor) {
    int fd = memfd_create("lagmonitor-page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return errno;
    int error = 0;
    clu_page *memory = NULL;
    uint64_t start = 0;
    if (ftruncate(fd, (off_t)clu_page_bytes()) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        error = errno;
    } else {
        // All of it exists from the start: no later touch, by anybody, can find that there is no memory left.
        void *mapped = mmap(NULL, clu_page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
        if (mapped == MAP_FAILED) error = errno;
        else memory = mapped;
    }
    if (error == 0) error = clu_procfs_start_ticks(getpid(), &start);
    if (error == 0 && sem_init(&memory->waker.semaphore, 1, 0) != 0) error = errno;
    if (error != 0) {
        if (memory != NULL) munmap(memory, clu_page_bytes());
        close(fd);
        return error;
    }
    memcpy(memory->magic, CLU_PAGE_MAGIC, sizeof(memory->magic));
    memory->version = CLU_PAGE_VERSION;
    memory->header_bytes = CLU_PAGE_HEADER_BYTES;
    memory->slot_bytes = sizeof(clu_page_slot);
    memory->slot_count = CLU_PAGE_SLOTS;
    memory->beacon_bytes = sizeof(clu_beacon);
    memory->waker_bytes = sizeof(clu_waker);
    memory->total_bytes = clu_page_bytes();
    memory->parent_pid = getpid();
    memory->parent_start = start;
    memory->clock_scale = clu_measure_scale();
    *page = memory;
    *descriptor = fd;
    return 0;
}

void clu_page_destroy(clu_page *page, int descriptor) {
    munmap(page, clu_page_bytes());
    close(descriptor);
}

void clu_page_path(int descriptor, char path[CLU_PAGE_PATH_MAX]) {
    static const char begin[] = "/proc/", middle[] = "/fd/";
    memcpy(path, begin, sizeof(begin) - 1);
    char *out = clu_append_number(path + sizeof(begin) - 1, (unsigned)getpid());
    memcpy(out, middle, sizeof(middle) - 1);
    out = clu_append_number(out + sizeof(middle) - 1, (unsigned)descriptor);
    *out = 0;
}

// MARK: Reading

int clu_page_read(const clu_page *page, uint32_t index, clu_page_loop *loop) {
    if (index >= CLU_PAGE_SLOTS) return 0;
    uint64_t claim = clu_page_claim(page, index);
    uint32_t state = clu_claim_state(claim);
    if (state < CLU_SLOT_LIVE || state > CLU_SLOT_LEFT) return 0;
    // Copied once and judged as a copy: the slot may change under one's eyes.
    clu_page_slot slot;
    memcpy(&slot, clu_page_slot_at(page, index), offsetof(clu_page_slot, beacon));
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    uint64_t after = clu_page_claim(page, index);
    // It may have ended meanwhile; a new generation is another loop.
    if (clu_claim_generation(after) != clu_claim_generation(claim) || clu_claim_pid(after) != clu_claim_pid(claim)) return 0;
    if (slot.kind != CLU_LOOP_OF_WAITS && slot.kind != CLU_LOOP_OF_MONITOR) return 0;
    if (slot.pid <= 0 || slot.tid <= 0 || slot.pid != clu_claim_pid(claim)) return 0;
    *loop = (clu_page_loop){
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

int clu_page_free(clu_page *page, uint32_t index, uint64_t claim) {
    if (index >= CLU_PAGE_SLOTS) return 0;
    uint64_t *word = clu_page_claim_word(page, index);
    uint64_t found = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (clu_claim_generation(found) == clu_claim_generation(claim) && clu_claim_pid(found) == clu_claim_pid(claim)) {
        if (clu_claim_state(found) == CLU_SLOT_FREE) return 1;
        uint64_t freed = clu_claim_with_state(found, CLU_SLOT_FREE);
        if (__atomic_compare_exchange_n(word, &found, freed, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) return 1;
    }
    return 0;
}

uint64_t clu_page_drain(clu_page *page) {
    for (int posts = 0; posts < 4096 && sem_trywait(&page->waker.semaphore) == 0; posts++) continue;
    return __atomic_exchange_n(&page->waker.posted_ns, 0, __ATOMIC_ACQUIRE);
}

// MARK: The kernel's word

typedef struct {
    struct stat file;
    uint64_t sp;
    clu_page_owner *owner;
} clu_page_search;

// One line of maps: "low-high perms offset major:minor inode path".
static void clu_page_match_line(char *line, void *context) {
    const clu_page_search *search = context;
    clu_page_owner *owner = search->owner;
    char *at = line;
    uint64_t low = strtoull(at, &at, 16);
    if (*at != '-') return;
    uint64_t high = strtoull(at + 1, &at, 16);
    if (search->sp >= low && search->sp < high) {
        owner->stack_low = low;
        owner->stack_high = high;
    }
    for (int fields = 0; fields < 2 && at != NULL; fields++) at = strchr(at + 1, ' ');
    if (at == NULL) return;
    unsigned long major_number = strtoul(at, &at, 16);
    if (*at != ':') return;
    unsigned long minor_number = strtoul(at + 1, &at, 16);
    uint64_t inode = strtoull(at, NULL, 10);
    if (inode == search->file.st_ino && makedev(major_number, minor_number) == search->file.st_dev) owner->maps_page = 1;
}

int clu_page_process(int descriptor, int32_t pid, uint64_t sp, clu_page_owner *owner) {
    memset(owner, 0, sizeof(*owner));
    if (pid <= 0) return ESRCH;
    clu_page_search search = {.sp = sp, .owner = owner};
    if (fstat(descriptor, &search.file) != 0) return errno;
    int error = clu_procfs_start_ticks(pid, &owner->start_ticks);
    return error != 0 ? error : clu_maps_each(pid, clu_page_match_line, &search);
}
