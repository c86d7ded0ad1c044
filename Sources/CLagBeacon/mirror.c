#define _GNU_SOURCE
#include "clb_mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// A beacon of this process and its mirror.
typedef struct clb_link {
    clb_beacon *own;     // NULL: unused. Set by the first request, cleared with the beacon
    clb_beacon *mirror;  // NULL: no slot now. The loop's own thread
    uint64_t place;      // the slot's claim with its index in place of the state; 0: no slot. The loop's own thread
    uint32_t requested;  // CLB_MIRROR_…, any thread
    uint32_t activities; // until a slot is claimed again
    // Written before the first request, and read after it.
    char name[CLB_LOOP_TABLE_NAME_MAX];
    char modes[CLB_LOOP_TABLE_MODES_MAX];
} clb_link;

_Static_assert(CLB_LOOP_TABLE_SLOTS <= 256, "a slot's index fits in a claim");
_Static_assert(CLB_MIRROR_LINKS <= 1 << (16 - CLB_BEACON_LINK_SHIFT), "a link's number fits in the beacon");

// After a claim that found no free slot: each activity before the next try costs 1 ns.
enum { CLB_MIRROR_RETRY_ACTIVITIES = 4096 };

// In memory that is zeroed in a fork's child.
static clb_link *links;
static clb_loop_table *table;
static int32_t process;

// MARK: Start

#if defined(__GLIBC__)

static char table_path[CLB_LOOP_TABLE_PATH_MAX];

void clb_mirror_record_path(const char *path) {
    if (path != NULL && strlen(path) < sizeof(table_path)) strcpy(table_path, path);
}

int clb_mirror_open(void) { return table_path[0] != 0 ? clb_mirror_open_path(table_path) : ENOENT; }

int clb_mirror_open_path(const char *path) {
    if (table != NULL) return EALREADY;
    size_t bytes = CLB_MIRROR_LINKS * sizeof(clb_link);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    // Linux 4.14. Without it, a fork's child would write into its parent's slots.
    if (madvise(memory, bytes, MADV_WIPEONFORK) != 0 || (table = clb_loop_table_open(path)) == NULL) {
        int error = errno;
        munmap(memory, bytes);
        return error;
    }
    process = getpid();
    // The preloaded library, if there is one, has done so for all kinds; by now it may have found loops of this
    // program.
    clb_loop_table_end_all(table, process, CLB_LOOP_FROM_MONITOR);
    __atomic_store_n(&links, memory, __ATOMIC_RELEASE);
    return 0;
}

#else

void clb_mirror_record_path(const char *path) {}
int clb_mirror_open(void) { return ENOSYS; }
int clb_mirror_open_path(const char *path) { return ENOSYS; }

#endif

// MARK: Requests

static clb_link *clb_link_of(const clb_beacon *beacon) {
    uint16_t armed = __atomic_load_n(&beacon->armed, __ATOMIC_ACQUIRE);
    if ((armed & CLB_BEACON_MIRRORED) == 0) return NULL;
    clb_link *link = &links[armed >> CLB_BEACON_LINK_SHIFT];
    return __atomic_load_n(&link->own, __ATOMIC_ACQUIRE) == beacon ? link : NULL;
}

static void clb_link_change(uint64_t place, uint32_t state) {
    if (place != 0) clb_loop_table_change(table, clb_claim_state(place), clb_claim_with_state(place, 0), state);
}

// Writes the present request into the claim word. Called by the requesting thread and by the loop's thread, each
// after its own store: the second of them sees both stores.
static void clb_link_apply(clb_link *link) {
    static const uint32_t states[] = {
        [CLB_MIRROR_NONE] = CLB_SLOT_UNWATCHED, [CLB_MIRROR_LIVE] = CLB_SLOT_LIVE, [CLB_MIRROR_PAUSED] = CLB_SLOT_PAUSED,
    };
    uint32_t requested;
    do {
        requested = __atomic_load_n(&link->requested, __ATOMIC_SEQ_CST);
        clb_link_change(__atomic_load_n(&link->place, __ATOMIC_SEQ_CST), states[requested]);
    } while (__atomic_load_n(&link->requested, __ATOMIC_SEQ_CST) != requested);
}

static clb_link *clb_link_make(clb_beacon *beacon, const char *name, const char *modes) {
    for (uint32_t number = 0; number < CLB_MIRROR_LINKS; number++) {
        clb_link *link = &links[number];
        if (__atomic_load_n(&link->own, __ATOMIC_ACQUIRE) != NULL) continue;
        link->mirror = NULL;
        link->place = 0;
        link->requested = CLB_MIRROR_NONE;
        link->activities = 0;
        memset(link->name, 0, sizeof(link->name));
        strncpy(link->name, name, sizeof(link->name) - 1);
        memcpy(link->modes, modes, sizeof(link->modes));
        __atomic_store_n(&link->own, beacon, __ATOMIC_RELEASE);
        uint16_t bits = (uint16_t)(number << CLB_BEACON_LINK_SHIFT | CLB_BEACON_MIRRORED);
        __atomic_fetch_or(&beacon->armed, bits, __ATOMIC_SEQ_CST);
        return link;
    }
    return NULL;
}

int clb_mirror_request(clb_beacon *beacon, uint32_t requested, const char *name, const char *modes) {
    if (__atomic_load_n(&links, __ATOMIC_ACQUIRE) == NULL || getpid() != process) return 0;
    clb_link *link = clb_link_of(beacon);
    if (link == NULL && requested != CLB_MIRROR_NONE) link = clb_link_make(beacon, name, modes);
    if (link == NULL) return 0;
    __atomic_store_n(&link->requested, requested, __ATOMIC_SEQ_CST);
    clb_link_apply(link);
    return 1;
}

int clb_mirror_exists(const clb_beacon *beacon) {
    clb_link *link = clb_link_of(beacon);
    return link != NULL && __atomic_load_n(&link->place, __ATOMIC_ACQUIRE) != 0;
}

// MARK: The loop's own thread

// Copies the beacon's times, without its word: they are left alone if the stretch of work is the same.
static void clb_mirror_copy_times(const clb_beacon *own, clb_beacon *mirror) {
    uint64_t now_ns = __atomic_load_n(&own->callout_ns, __ATOMIC_RELAXED);
    uint64_t since_ns = __atomic_load_n(&mirror->callout_ns, __ATOMIC_RELAXED);
    if (now_ns != since_ns) {
        uint64_t limit_ns = __atomic_load_n(&mirror->limit_ns, __ATOMIC_RELAXED);
        // As in clb_beacon_begin: lagmond's limit differs from that of this process's monitor.
        if (__builtin_expect(now_ns - since_ns > limit_ns - 1, 0)) clb_beacon_record_stretch(mirror, since_ns, now_ns);
        __atomic_store_n(&mirror->woke_ns, __atomic_load_n(&own->woke_ns, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
        __atomic_store_n(&mirror->callout_ns, now_ns, __ATOMIC_RELAXED);
    }
    uint32_t mode = __atomic_load_n(&own->mode, __ATOMIC_RELAXED);
    if (mirror->mode != mode) __atomic_store_n(&mirror->mode, mode, __ATOMIC_RELAXED);
}

static void clb_mirror_publish(const clb_beacon *own, clb_beacon *mirror, uint8_t activity) {
    clb_mirror_copy_times(own, mirror);
    uint64_t word = __atomic_load_n(&mirror->word, __ATOMIC_RELAXED);
    uint64_t next = ((word >> 8) + 1) << 8 | activity;
    uint16_t armed;
    if (clb_activity_is_rest((uint8_t)word)) {
        // The end of idle time un-parks lagmond's watchdog.
        __atomic_store_n(&mirror->word, next, __ATOMIC_SEQ_CST);
        armed = __atomic_load_n(&mirror->armed, __ATOMIC_SEQ_CST);
    } else {
        __atomic_store_n(&mirror->word, next, __ATOMIC_RELEASE);
        armed = __atomic_load_n(&mirror->armed, __ATOMIC_RELAXED);
    }
    if (__builtin_expect(armed != 0, 0)) clb_beacon_answer(mirror, activity);
}

// Returns the slot. This process does not write it from now on.
static void clb_link_end(clb_link *link) {
    link->mirror = NULL;
    clb_link_change(__atomic_exchange_n(&link->place, 0, __ATOMIC_SEQ_CST), CLB_SLOT_ENDED);
}

static void clb_link_begin(clb_link *link) {
    if (link->activities > 0) {
        link->activities--;
        return;
    }
    uint64_t claim;
    int32_t index = clb_loop_table_claim_slot(table, CLB_LOOP_FROM_MONITOR, process, 0, clb_now_ns(), &claim);
    if (index < 0) {
        link->activities = CLB_MIRROR_RETRY_ACTIVITIES;
        return;
    }
    clb_loop_table_slot *slot = clb_loop_table_slot_at(table, (uint32_t)index);
    slot->tid = (int32_t)syscall(SYS_gettid);
    slot->wait_sp = (uint64_t)(uintptr_t)__builtin_frame_address(0);
    memcpy(slot->name, link->name, sizeof(slot->name));
    memcpy(slot->modes, link->modes, sizeof(slot->modes));
    link->mirror = &slot->beacon;
    // The loop's present activity is published before the slot counts.
    clb_beacon *own = __atomic_load_n(&link->own, __ATOMIC_RELAXED);
    uint8_t activity = (uint8_t)__atomic_load_n(&own->word, __ATOMIC_RELAXED);
    clb_mirror_publish(own, link->mirror, activity);
    clb_loop_table_publish(table, (uint32_t)index, CLB_SLOT_LIVE, &claim);
    __atomic_store_n(&link->place, clb_claim_with_state(claim, (uint32_t)index), __ATOMIC_SEQ_CST);
    clb_link_apply(link);
}

static void clb_link_publish(clb_link *link, const clb_beacon *beacon, uint8_t activity) {
    // A fork's child finds nothing here.
    if (__builtin_expect(link->own != beacon, 0)) return;
    clb_beacon *mirror = link->mirror;
    int is_requested = __atomic_load_n(&link->requested, __ATOMIC_RELAXED) != CLB_MIRROR_NONE;
    if (__builtin_expect(mirror == NULL, 0)) {
        if (is_requested && activity != CLB_ACTIVITY_FINISHED) clb_link_begin(link);
        return;
    }
    clb_mirror_publish(beacon, mirror, activity);
    if (__builtin_expect(!is_requested || activity == CLB_ACTIVITY_FINISHED, 0)) clb_link_end(link);
}

void clb_beacon_notify(clb_beacon *beacon, uint8_t activity) {
    // The link was filled before the beacon was marked as having one.
    uint16_t armed = __atomic_load_n(&beacon->armed, __ATOMIC_ACQUIRE);
    if ((armed & CLB_BEACON_MIRRORED) != 0) clb_link_publish(&links[armed >> CLB_BEACON_LINK_SHIFT], beacon, activity);
    if (__builtin_expect((armed & CLB_ARMED_ALL) != 0, 0)) clb_beacon_answer(beacon, activity);
}

// MARK: The end

void clb_mirror_forget(clb_beacon *beacon) {
    clb_link *link = clb_link_of(beacon);
    if (link == NULL) return;
    clb_link_end(link);
    __atomic_store_n(&link->own, NULL, __ATOMIC_RELEASE);
}
