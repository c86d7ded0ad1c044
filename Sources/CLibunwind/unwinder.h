// An unwinder's state, and what its walk and its accessors share. Private to this target.
#pragma once

#include "frame_record_search.h"
#include "libunwind_calls.h"
#include "return_address.h"
#include "unwind_entry.h"

enum {
    PAGE = 4096,
    CACHED_PAGES = 64,
    // Words that libunwind may read in one walk. It has no limit of its own, and reads each byte of a table as a
    // word. A frame whose tables are not cached takes some hundred; this limit takes 20 ms.
    MAXIMUM_READS = 1 << 20,
    // Our own system calls in one walk, some 1 µs each. A stack of 4,000 frames beyond the snapshot takes two thirds
    // of them.
    MAXIMUM_OWN_READS = 1 << 16,
};

// In a page's stamp: valid for the epoch, not for the walk.
static const uint32_t CONSTANT = 1u << 31;

// Pages of code, tables and stack outside the snapshot: one system call per page instead of one per word. A page of code
// or of unwind tables does not change while its module is loaded, so its copy is valid until the modules change; any
// other copy is valid for one walk.
typedef struct page_cache {
    uint64_t page[CACHED_PAGES];
    uint32_t stamp[CACHED_PAGES];  // the walk, or CONSTANT with the epoch
    uint8_t bytes[CACHED_PAGES][PAGE];
} page_cache;

struct clu_unwinder {
    unw_addr_space_t space;
    unw_accessors_t accessors;
    void *further_accessors[8];     // NULL: libunwind copies as many as it has, and newer versions have more than our header
    memory_view view;
    uint32_t walk, epoch;           // counted by walks and by changes of the modules, below CONSTANT
    int reading_tables;             // a look-up is under way
    uint64_t *stack_pointers;       // of the frames that a walk stores; NULL: not wanted
    uint32_t reads;                 // of MAXIMUM_READS, in this walk
    uint32_t own_reads_left;        // of MAXIMUM_OWN_READS, in this walk
    uint32_t ends;                  // of functions without tables that were looked for, in this walk
    uint64_t *frame_pointers;
    uint64_t frame_sp, frame_code;  // the frame being stepped: where a missing frame pointer is searched
    uint64_t frame_pointer;
    int frame_pointer_recovered;
    int lookup_failed;  // the frame being stepped has no unwind information
    int only_known;     // an unknown frame pointer is not searched
    int restarted;      // the walk continues from these, the only known registers (a frame pointer of 0 is not known)
    uint64_t restart_pc, restart_sp, restart_fp;
    int sp_is_bound;    // of the present frame: its stack pointer is not known, only its lower bound
    clu_entries entries;
    page_cache cache;
};

// What is known about a frame before the step from it; 0: not known.
typedef struct clu_frame_registers {
    unw_word_t sp, fp;
    unw_word_t lr;  // if there is a link register that may still contain the return address
} clu_frame_registers;

// Reads memory of the process through the cache. 1, or 0 if it cannot be read.
int clu_cached_read(clu_unwinder *unwinder, uint64_t address, void *buffer, size_t size);

// The entry for `ip` in the unwind table of its module: .eh_frame_hdr as the linkers write it (LSB Core, 10.6.2),
// which is version 1, a pc-relative pointer, a 32-bit count, and a sorted table of 32-bit pairs relative to the
// header: the start of a function, and its entry. 0: none.
int clu_find_entry(clu_unwinder *unwinder, uint64_t ip, uint64_t *header, int32_t pair[2]);

typedef struct clu_function { uint64_t start, end; } clu_function;

// The function that contains `ip`, from the unwind tables. 0: they have none there.
int clu_find_function(clu_unwinder *unwinder, uint64_t ip, clu_function *function);

// Copies and checks the entry for `ip`, which is then the one of CLU_ENTRY_TABLE. 0: there is none that libunwind may
// see (unwind_entry.h).
int clu_entry_take(clu_unwinder *unwinder, uint64_t ip, uint64_t *header);

// Drops all copies, and libunwind's data about them.
void clu_entries_forget(clu_unwinder *unwinder);

// The frame record of the walk's present frame, whose frame pointer is not known; 0 if none is consistent
// (frame_record_search.c).
uint64_t clu_frame_record_search(clu_unwinder *unwinder);

// Lets the walk continue from a caller about which only these registers are known; `fp` 0: not known.
int clu_restart(clu_unwinder *unwinder, unw_cursor_t *cursor, uint64_t pc, uint64_t sp, uint64_t fp);

// Finds the caller of code without unwind information; libunwind has made a step (`stepped`) or none. Only a caller
// that really calls is accepted.
int clu_go_on_without_tables(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers, int stepped);

// Steps from a frame whose stack pointer is not known, by its frame record. 0: not possible.
int clu_step_by_record(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers);

#if defined(__aarch64__)
// The return address of a function that has called nothing, if the link register is not known.
uint64_t clu_link_register_search(clu_unwinder *unwinder);
#endif
