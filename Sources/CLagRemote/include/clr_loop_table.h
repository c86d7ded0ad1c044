// lagmond's side of the shared loop table (clb_loop_table.h): creates it, and reads what the loops of other processes publish.
#pragma once

#include "clb_loop_table.h"

// Creates a table of this process, and measures the conversion of time (takes 5 ms). 0, or an errno. The descriptor is close-on-exec
// and must stay open while processes should find the table.
// `parent_start` is field 22 of /proc/self/stat.
int clr_loop_table_create(uint64_t parent_start, clb_loop_table **table, int *descriptor);
// Creates a table that other processes cannot find. 0, or an errno.
int clr_loop_table_create_unshared(clb_loop_table **table);
// Releases this process's mapping and the descriptor; -1: no descriptor.
void clr_loop_table_destroy(clb_loop_table *table, int descriptor);
// The path for CLB_LOOP_TABLE_VARIABLE.
void clr_loop_table_path(int descriptor, char path[CLB_LOOP_TABLE_PATH_MAX]);

// Publishes whether the processor's counter still gives CLOCK_MONOTONIC: the kernel may abandon the counter at any time. Reads a file
// in /sys; call it every few seconds while there is activity. Code that converts times still reads the clock ten times a second.
void clr_loop_table_check_clock(clb_loop_table *table);

// A validated copy of a slot's content at one moment.
typedef struct clr_loop_table_entry {
    uint64_t claim;
    uint32_t state;      // CLB_SLOT_…, from CLB_SLOT_LIVE on
    uint32_t kind;
    int32_t pid, tid;
    uint64_t claimed_ns;
    uint64_t wait_return, wait_sp;
    uint64_t inner_waits, changes;
    char name[CLB_LOOP_TABLE_NAME_MAX];    // terminated by a NUL
    char modes[CLB_LOOP_TABLE_MODES_MAX];  // terminated by a NUL
} clr_loop_table_entry;

// 1, or 0 if there is no loop (free, being filled, or invalid).
int clr_loop_table_read(const clb_loop_table *table, uint32_t index, clr_loop_table_entry *loop);
// The claim of a slot that is taken but has no valid loop: it is being filled, its claimant died meanwhile, or it is invalid. Otherwise 0.
uint64_t clr_loop_table_unfinished(const clb_loop_table *table, uint32_t index);
// The current place and object of its loop's wait: the slot's wait_sp and wait_object.
void clr_loop_table_wait_place(const clb_loop_table *table, uint32_t index, uint64_t *sp, int32_t *object);
// Whether its thread serves a connection that it accepted after its last wait.
static inline int clr_loop_table_is_serving(const clb_loop_table *table, uint32_t index) {
    const clb_loop_table_slot *slot = clb_loop_table_slot_at(table, index);
    uint64_t word = clb_beacon_word(&slot->beacon);
    return word != 0 && __atomic_load_n(&slot->served_word, __ATOMIC_RELAXED) == word;
}
// How often there was no free slot for a loop.
static inline uint64_t clr_loop_table_refused(const clb_loop_table *table) { return __atomic_load_n(&table->refused, __ATOMIC_RELAXED); }
// Whether another thread of the process at `index` has returned from a wait on that object (the slot's wait_object) since `since_ns`. Takes some
// 0.2 µs.
int clr_loop_table_has_fetcher(const clb_loop_table *table, uint32_t index, int32_t object, uint64_t since_ns);
// Frees a slot unless it was claimed again after `claim` was read. 1 if it is free now.
int clr_loop_table_free(clb_loop_table *table, uint32_t index, uint64_t claim);
// Whether observations of the slot's loop count.
static inline int clr_claim_is_confirmed(uint64_t claim) {
    uint32_t state = clb_claim_state(claim);
    return state >= CLB_SLOT_LIVE && state <= CLB_SLOT_UNWATCHED;
}
