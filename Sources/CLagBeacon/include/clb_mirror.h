// The mirror of a beacon: a second one in the table that lagmond shares with the programs below it (clb_loop_table.h), for a loop that a
// monitor in this process watches. So lagmond knows what the loop does, also when this process cannot report it any more.
//
// Who writes. The loop's own thread publishes to its beacon, and then to the mirror: single writer, single arming and the order of stores are those
// of clb_beacon.h, for both. Each beacon has its own watchdog, which arms its own alone: nothing here is shared between the two.
//
// Who requests it. A monitor that begins to watch a loop (clb_mirror_request). The slot is claimed, written and given back by the loop's
// own thread, with its next activity: no other thread can know when its last store is over. Until then a loop that is watched no more
// has UNWATCHED in its claim word, which any thread may write. A loop that finds no slot is not mirrored, tries again now and then, and
// nothing else changes.
//
// Cost. None without a mirror: it is written off the branch that checks for an arming. With one some 1 ns an activity.
//
// A fork's child. The links to the mirrors lie in memory that reads 0 in it, so its first activity finds none: the slots are its
// parent's. A monitor is for use again after exec.
#pragma once

#include "clb_beacon.h"
#include "clb_loop_table.h"

#pragma GCC visibility push(hidden)

enum {
    CLB_MIRROR_NONE = 0,
    CLB_MIRROR_LIVE = 1,
    CLB_MIRROR_PAUSED = 2,
};

// Loops of one process that may have a mirror at once: as many as a table has slots.
enum { CLB_MIRROR_LINKS = CLB_LOOP_TABLE_SLOTS };

// The table's path, CLB_LOOP_TABLE_VARIABLE of the environment when this program was loaded: before there is a second thread that could
// change it. NULL: there is no table.
void clb_mirror_record_path(const char *path);

// Maps that table. 0, or an errno: ENOENT (no path was recorded, or it is gone),
// and those of clb_loop_table_open: whatever it is, there are no mirrors. Not in a setuid program (secure_getenv), and not on another C
// library than glibc, whose semaphore the table has. Once in a process, from one thread.
int clb_mirror_open(void);
// The same with this path; for tests and the benchmark.
int clb_mirror_open_path(const char *path);

// Whether the beacon shall have a mirror from now on. `name` is the loop's, `modes` are the names of its modes from number 1 on, each
// ended by a NUL, CLB_LOOP_TABLE_MODES_MAX bytes in all; both are read with the beacon's first request alone. Any thread, one at a time.
// Returns 0 when there are more than CLB_MIRROR_LINKS, or no table; otherwise 1.
int clb_mirror_request(clb_beacon *beacon, uint32_t requested, const char *name, const char *modes);

// The beacon is about to be gone. Any thread, once no thread publishes to it any more.
void clb_mirror_forget(clb_beacon *beacon);

// Whether the beacon is mirrored at present. For tests.
int clb_mirror_exists(const clb_beacon *beacon);

#pragma GCC visibility pop
