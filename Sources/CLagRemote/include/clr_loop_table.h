// lagmond's side of the shared loop table (clb_loop_table.h): makes it, and reads what the loops of other processes publish.
#pragma once

#include "clb_loop_table.h"

// A new table of this process, with the conversion of time measured (takes 5 ms). 0, or an errno. The descriptor is close-on-exec
// and has to stay open as long as processes are to find the table.
// `parent_start` is field 22 of /proc/self/stat.
int clr_loop_table_create(uint64_t parent_start, clb_loop_table **table, int *descriptor);
// One that no other process finds. 0, or an errno.
int clr_loop_table_create_unshared(clb_loop_table **table);
// Gives up this process's mapping and the descriptor; -1: there is none.
void clr_loop_table_destroy(clb_loop_table *table, int descriptor);
// The path for CLB_LOOP_TABLE_VARIABLE.
void clr_loop_table_path(int descriptor, char path[CLB_LOOP_TABLE_PATH_MAX]);

// Publishes whether the processor's counter still gives CLOCK_MONOTONIC: the kernel may give the counter up at any time. Reads a file
// in /sys; worth it every few seconds in which something happens. Who converts asks the clock anew ten times a second all the same.
void clr_loop_table_check_clock(clb_loop_table *table);

// A slot's content at one moment, checked in form.
typedef struct clr_loop_table_entry {
    uint64_t claim;
    uint32_t state;      // CLB_SLOT_…, from CLB_SLOT_LIVE on
    uint32_t kind;
    int32_t pid, tid;
    uint64_t claimed_ns;
    uint64_t wait_return, wait_sp;
    uint64_t inner_waits, changes;
    char name[CLB_LOOP_TABLE_NAME_MAX];    // ended by a NUL
    char modes[CLB_LOOP_TABLE_MODES_MAX];  // ended by a NUL
} clr_loop_table_entry;

// 1, or 0 when no loop is there (free, being filled, or nonsense).
int clr_loop_table_read(const clb_loop_table *table, uint32_t index, clr_loop_table_entry *loop);
// The claim of a slot that is taken and shows no loop: it is being filled, who claimed it died meanwhile, or it is nonsense. Else 0.
uint64_t clr_loop_table_unfinished(const clb_loop_table *table, uint32_t index);
// Where its loop waits now, and on what: the slot's wait_sp and wait_object.
void clr_loop_table_wait_place(const clb_loop_table *table, uint32_t index, uint64_t *sp, int32_t *object);
// Whether its thread serves a connection that it has accepted since its last wait.
static inline int clr_loop_table_is_serving(const clb_loop_table *table, uint32_t index) {
    const clb_loop_table_slot *slot = clb_loop_table_slot_at(table, index);
    uint64_t word = clb_beacon_word(&slot->beacon);
    return word != 0 && __atomic_load_n(&slot->served_word, __ATOMIC_RELAXED) == word;
}
// How often a loop has found no free slot.
static inline uint64_t clr_loop_table_refused(const clb_loop_table *table) { return __atomic_load_n(&table->refused, __ATOMIC_RELAXED); }
// Whether another thread of the process at `index`, by its waits, has come back since `since_ns` from one on that object (the slot's wait_object). Some
// 0.2 µs.
int clr_loop_table_has_fetcher(const clb_loop_table *table, uint32_t index, int32_t object, uint64_t since_ns);
// Frees a slot unless it was claimed anew since `claim` was read. 1 when it is free now.
int clr_loop_table_free(clb_loop_table *table, uint32_t index, uint64_t claim);
// Whether what was seen of the slot's loop counts.
static inline int clr_claim_is_confirmed(uint64_t claim) {
    uint32_t state = clb_claim_state(claim);
    return state >= CLB_SLOT_LIVE && state <= CLB_SLOT_UNWATCHED;
}
