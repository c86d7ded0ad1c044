// The mirror of a beacon: a second one in the table that lagmond shares with the programs below it
// (clb_loop_table.h), for a loop that a monitor in this process watches. So lagmond knows what the loop does, even
// when this process cannot report it any more.
//
// Writers. The loop's own thread publishes to its beacon, and then to the mirror. For both, the single writer, the
// single arming and the order of stores are those of clb_beacon.h. Each beacon has its own watchdog, which arms only
// that beacon: the two share nothing.
//
// Requests. A monitor that begins to watch a loop requests the mirror (clb_mirror_request). The loop's own thread
// claims, writes and returns the slot, with its next activity: no other thread can know when its last store is done.
// Until then, a loop that is no longer watched has UNWATCHED in its claim word, which any thread may write. A loop
// that finds no free slot is not mirrored, tries again now and then, and nothing else changes.
//
// Cost. None without a mirror: it is written on the branch that checks for an arming. With one, some 1 ns an
// activity.
//
// A fork's child. The links to the mirrors are in memory that is zeroed in the child, so its first activity finds
// none: the slots belong to its parent. A monitor can be used again after exec.
#pragma once

#include "clb_beacon.h"
#include "clb_loop_table.h"

#pragma GCC visibility push(hidden)

enum {
    CLB_MIRROR_NONE = 0,
    CLB_MIRROR_LIVE = 1,
    CLB_MIRROR_PAUSED = 2,
};

// How many loops of one process may have a mirror at once: as many as a table has slots.
enum { CLB_MIRROR_LINKS = CLB_LOOP_TABLE_SLOTS };

// The table's path, CLB_LOOP_TABLE_VARIABLE of the environment when this program was loaded: before there is a second
// thread that could change it. NULL: no table.
void clb_mirror_record_path(const char *path);

// Maps that table. 0, or an errno: ENOENT (no path was recorded, or it is gone), or those of clb_loop_table_open;
// with any of them there are no mirrors. Not in a setuid program (secure_getenv), and not with a C library other than
// glibc, whose semaphore the table contains. Once in a process, from one thread.
int clb_mirror_open(void);
// The same with this path; for tests and the benchmark.
int clb_mirror_open_path(const char *path);

// Sets whether the beacon has a mirror from now on. `name` is the loop's, `modes` are the names of its modes from
// number 1 on, each NUL-terminated, CLB_LOOP_TABLE_MODES_MAX bytes in total; both are read only with the beacon's
// first request. Any thread, one at a time. Returns 0 if there are more than CLB_MIRROR_LINKS, or no table; otherwise
// 1.
int clb_mirror_request(clb_beacon *beacon, uint32_t requested, const char *name, const char *modes);

// The beacon is about to be freed. Any thread, once no thread publishes to it any more.
void clb_mirror_forget(clb_beacon *beacon);

// Whether the beacon is mirrored now. For tests.
int clb_mirror_exists(const clb_beacon *beacon);

#pragma GCC visibility pop
