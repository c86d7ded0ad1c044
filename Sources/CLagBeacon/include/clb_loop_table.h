// The shared loop table: what the loops of other processes publish to the lagmond that started them, in memory that both sides map.
//
// Life. lagmond creates it (a memfd that cannot change its size) and puts its path, /proc/<lagmond's pid>/fd/<n>,
// into the environment. Every process below opens that path, maps the memory and closes the descriptor, so nothing is
// inherited, and a program that closes all descriptors loses nothing. A mapping lives as long as its process, so
// lagmond's exit harms no process; and the memory lives as long as a mapping, so what a killed process published last
// can still be read.
//
// Slots. One per loop. A slot's claim word contains its state, its process and a generation:
//   FREE -> CLAIMED   by the loop's process (compare and swap), which then fills the slot;
//   CLAIMED -> LIVE, PROVISIONAL  by the same thread, with a release store: a reader that sees one of these sees the slot;
//   PROVISIONAL -> LIVE  by the same thread, before it publishes the idle time with which it turned out to be a loop: so a
//       reader that sees the end of a stretch of work that lasted until then sees LIVE;
//   PROVISIONAL -> WITHDRAWN  instead of ENDED: it turned out not to be a loop, or ended before that was known;
//   LIVE -> WITHDRAWN  by the same thread: what looked like a loop was its start;
//   LIVE, PAUSED, UNWATCHED  to one another, by any thread of a process that mirrors its own monitor's loops (clb_mirror.h);
//   those -> ENDED    by the loop's own thread at its end; by the process in the claim when it starts a new program (exec);
//   any -> FREE       only by lagmond, once it has read it, or when its process or thread is gone without ending it.
// The generation grows with every claim, so lagmond knows when a slot belongs to another loop.
//
// Ordering and writers of the beacon: clb_beacon.h. Two things differ. lagmond never writes `waker`, and arms by
// clb_beacon_rearm. And no process follows `waker` in memory that other processes write: clb_beacon_answer posts to
// the table's waker at the address where this process mapped it.
//
// Trust. Every process that maps the table can write all of it: lagmond trusts no number in it. lagmond follows no
// address and takes no size from it. It reads a slot by clr_loop_table_read (which copies it and checks the form),
// and queries the kernel whether the slot's process has this table mapped at all (clr_mapping_owner) before it reads
// anything of that process. The children only use data that cannot cause harm: the conversion of time (a wrong one
// gives wrong times), and which slots are free.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "clb_beacon.h"

#pragma GCC visibility push(hidden)

#define CLB_LOOP_TABLE_MAGIC "LAGPAGE"

// The variable that holds the table's path.
#define CLB_LOOP_TABLE_VARIABLE "LAGMONITOR_LOOP_TABLE"

enum {
    CLB_LOOP_TABLE_VERSION = 4,
    CLB_LOOP_TABLE_SLOTS = 256,
    CLB_LOOP_TABLE_HEADER_BYTES = 4096,
    CLB_LOOP_TABLE_NAME_MAX = 40,
    CLB_LOOP_TABLE_MODES_MAX = 32,
    CLB_LOOP_TABLE_PATH_MAX = 40,
};

enum {
    CLB_SLOT_FREE = 0,
    CLB_SLOT_CLAIMED = 1,    // being filled
    CLB_SLOT_LIVE = 2,
    CLB_SLOT_ENDED = 3,      // the loop is over; what it published last can still be read
    CLB_SLOT_PAUSED = 4,     // still written, but its process wants nothing about the loop or its thread reported
    CLB_SLOT_UNWATCHED = 5,  // no longer watched by its process; until the loop's own thread ends it, it may still be written
    CLB_SLOT_PROVISIONAL = 6,  // not proved to be a loop yet: watched, but nothing is reported until it is LIVE
    CLB_SLOT_WITHDRAWN = 7,    // like ENDED, and nothing of it counts
};

// All waits of a program's start at one place are within this time.
enum { CLB_START_MS = 5000 };

// The writer of the slot.
enum {
    CLB_LOOP_FROM_PRELOAD = 1,    // the preloaded library: only knows when the loop is idle
    CLB_LOOP_FROM_MONITOR = 2,  // LagMonitor in the program: all activities; precedes a loop of waits of the same thread
};

typedef struct clb_loop_table_slot {
    uint32_t kind;         // CLB_LOOP_…
    int32_t pid;           // the process's own view: differs inside a pid namespace, where clr_mapping_owner refuses it
    int32_t tid;
    int32_t wait_object;   // its epoll instance's descriptor plus one; 0: it waits otherwise; negative: it creates one for each wait
    uint64_t claimed_ns;   // CLOCK_MONOTONIC; if it is known by its waits, of the first one: a process that began later is a different one
    uint64_t wait_return;  // the wait that makes the loop: its return address and the stack pointer after its return
    uint64_t wait_sp;      // (of a monitor's loop: 0, and somewhere in its thread's stack)
    uint64_t served_word;  // the beacon's word of work in which the thread serves an accepted connection; not used for other work
    uint32_t inner_waits;  // waits within a stretch of work, which do not count as idle; those that do: the beacon's sequence / 2
    uint32_t changes;      // how often another wait became the loop's
    char name[CLB_LOOP_TABLE_NAME_MAX];    // empty: use the thread's name
    char modes[CLB_LOOP_TABLE_MODES_MAX];  // names of the modes from number 1 on, each NUL-terminated; missing ones are not known
    clb_beacon beacon;
} clb_loop_table_slot;

typedef struct clb_loop_table {
    char magic[8];         // CLB_LOOP_TABLE_MAGIC
    uint32_t version;
    uint32_t header_bytes;
    uint32_t slot_bytes;
    uint32_t slot_count;
    uint32_t beacon_bytes;
    uint32_t waker_bytes;
    uint64_t total_bytes;
    int32_t parent_pid;
    uint32_t reserved;
    uint64_t parent_start;   // field 22 of /proc/<pid>/stat
    uint64_t clock_scale;    // clb_loop_table_scale; 0: use clock_gettime. May be updated at any time
    uint64_t refused;        // loops that found no free slot
    uint64_t padding[7];
    clb_waker waker;         // lagmond's watchdog waits here; shared between processes
    uint64_t waker_padding[6];
    // claims: CLB_LOOP_TABLE_SLOTS words in the second half of the header; then the slots.
} clb_loop_table;

_Static_assert(sizeof(clb_loop_table_slot) == 256 && offsetof(clb_loop_table_slot, beacon) == 128, "a slot is four cache lines, a beacon two of them");
_Static_assert(offsetof(clb_loop_table, waker) == 128 && sizeof(clb_waker) == 16 && sizeof(clb_loop_table) == 192, "the layout of version 4");
_Static_assert(CLB_LOOP_TABLE_HEADER_BYTES / 2 >= CLB_LOOP_TABLE_SLOTS * sizeof(uint64_t), "all claims fit");

static inline size_t clb_loop_table_bytes(void) { return CLB_LOOP_TABLE_HEADER_BYTES + CLB_LOOP_TABLE_SLOTS * sizeof(clb_loop_table_slot); }

static inline uint64_t *clb_loop_table_claim_word(const clb_loop_table *table, uint32_t index) {
    return (uint64_t *)((char *)table + CLB_LOOP_TABLE_HEADER_BYTES / 2) + index % CLB_LOOP_TABLE_SLOTS;
}
static inline clb_loop_table_slot *clb_loop_table_slot_at(const clb_loop_table *table, uint32_t index) {
    return (clb_loop_table_slot *)((char *)table + CLB_LOOP_TABLE_HEADER_BYTES) + index % CLB_LOOP_TABLE_SLOTS;
}
static inline clb_beacon *clb_loop_table_beacon(const clb_loop_table *table, uint32_t index) { return &clb_loop_table_slot_at(table, index)->beacon; }
static inline clb_waker *clb_loop_table_waker(const clb_loop_table *table) { return (clb_waker *)&table->waker; }

// The claim word: generation << 40 | state << 32 | pid.
static inline uint64_t clb_loop_table_claim(const clb_loop_table *table, uint32_t index) {
    return __atomic_load_n(clb_loop_table_claim_word(table, index), __ATOMIC_ACQUIRE);
}
static inline uint32_t clb_claim_state(uint64_t claim) { return (uint32_t)(claim >> 32) & 0xff; }
static inline int32_t clb_claim_pid(uint64_t claim) { return (int32_t)(uint32_t)claim; }
static inline uint32_t clb_claim_generation(uint64_t claim) { return (uint32_t)(claim >> 40); }
static inline uint64_t clb_claim_with_state(uint64_t claim, uint32_t state) {
    return (claim & ~(UINT64_C(0xff) << 32)) | (uint64_t)state << 32;
}

// MARK: The loops' side

// Maps the table of that path; NULL and errno if it is missing, foreign or of another version (EPROTO), or if this
// process does not see the process numbers that /proc shows (EXDEV). Seven system calls; it neither waits nor
// allocates. One table per process: from now on, beacons in it post to its waker.
clb_loop_table *clb_loop_table_open(const char *path);

// The waker for a beacon in the table that this process opened; NULL for all others. Used by clb_beacon_answer.
clb_waker *clb_loop_table_waker_of(const clb_beacon *beacon);

// Claims a slot, empty except for pid, kind and claim time; -1 if none is free (counted in `refused`). `hint` is
// where to begin. Fill it, then call clb_loop_table_publish. Wakes lagmond, which must know the slot in case this
// process dies before that.
int32_t clb_loop_table_claim_slot(clb_loop_table *table, uint32_t kind, int32_t pid, uint32_t hint, uint64_t now_ns, uint64_t *claim);
// The slot counts from now on, as CLB_SLOT_LIVE or CLB_SLOT_PROVISIONAL; wakes lagmond's watchdog.
void clb_loop_table_publish(clb_loop_table *table, uint32_t index, uint32_t state, uint64_t *claim);
// Changes the loop's state, to LIVE, PAUSED, UNWATCHED, WITHDRAWN or ENDED (for a provisional claim: WITHDRAWN); wakes lagmond's
// watchdog. Does nothing if the slot no longer belongs to `claim` (apart from its state), or has that state or ended
// already. Any thread of its process.
void clb_loop_table_change(clb_loop_table *table, uint32_t index, uint64_t claim, uint32_t state);
// This process, or this thread, has set filters for its system calls (seccomp(2)). A filter may kill it for an
// unexpected call: so if there is one, nothing is claimed any more, and posts wake no thread. A child of fork
// inherits the filters, and this state, too.
int clb_makes_no_calls(void);
void clb_count_filters(int is_threads_own, int change);
// The loop is over.
static inline void clb_loop_table_end(clb_loop_table *table, uint32_t index, uint64_t claim) {
    clb_loop_table_change(table, index, claim, CLB_SLOT_ENDED);
}
// Ends what a process with this number left: the program that it was before exec. `kind` selects the loops; 0: all.
void clb_loop_table_end_all(clb_loop_table *table, int32_t pid, uint32_t kind);

// MARK: Time

// ticks -> ns is ticks * multiplier >> shift; both in one word, so that one load is enough.
static inline uint64_t clb_loop_table_scale(uint32_t multiplier, uint32_t shift) { return (uint64_t)multiplier << 32 | shift; }

// The processor's counter, where a program may read one.
static inline uint64_t clb_ticks(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

// CLOCK_MONOTONIC from the counter, for one thread. It reads the clock itself when the last time is older than
// 2^CLB_TICKS_BITS ticks (60 to 180 ms at 1.5 to 4.5 GHz; arm64: up to 175 ms): the kernel slews its clock by up to
// 500 ppm, so a time is never off by more than 0.1 ms, and neither a suspended machine nor a vanished lagmond can
// make it wrong.
#if defined(__aarch64__)
enum { CLB_TICKS_BITS = 22 };
#else
enum { CLB_TICKS_BITS = 28 };
#endif
typedef struct clb_ticker {
    uint64_t base_ticks;
    uint64_t base_ns;
    uint64_t scale;  // the table's at that time: reading it from the table would touch another page of memory at every call
} clb_ticker;

// Reads the clock, and starts again from there. The slow path.
uint64_t clb_ticker_ask(clb_ticker *ticker, const clb_loop_table *table);

static inline uint64_t clb_ticker_now_ns(clb_ticker *ticker, const clb_loop_table *table) {
    uint64_t passed = clb_ticks() - ticker->base_ticks;
    if (__builtin_expect(ticker->scale == 0 || passed >> CLB_TICKS_BITS != 0, 0)) return clb_ticker_ask(ticker, table);
    return ticker->base_ns + (passed * (ticker->scale >> 32) >> (ticker->scale & 63));
}

#pragma GCC visibility pop
