// Entries of unwind tables (.eh_frame), checked and copied before libunwind gets to see them. Private to this target.
//
// The tables are the watched program's, which may have written anything there, and may write on. libunwind trusts them: it divides by what an expression
// says (INT64_MIN by -1 traps), takes any number for a register's, and keeps a state for each DW_CFA_remember_state in memory that never goes back. So an entry
// is copied once, its copy is checked, and libunwind reads nothing but the copy.
//
// On AArch64 the copy has no DW_CFA_AARCH64_negate_ra_state either (return_address.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    CLU_ENTRY_BYTES = 32 * 1024,   // a longer entry is not taken; the longest of large programs have some hundred bytes
    CLU_COMMON_BYTES = 1024,       // the same of what entries have in common
    CLU_PIECES = 32,
    CLU_PIECE_BYTES = 4 * CLU_ENTRY_BYTES,
};

// Where libunwind finds the table of the one entry that it may see: an address that no program has.
#define CLU_ENTRY_TABLE UINT64_C(0xfffffffffff00000)

typedef struct clu_piece {
    uint64_t address;
    uint32_t size;
    uint32_t offset;  // in `bytes`
} clu_piece;

// Copies of entries, which do not overlap. libunwind remembers what it has read of an entry, but for the expressions in it: it reads those
// whenever it comes by. So entries with expressions stay, up to `kept`; the others make room for the next one.
typedef struct clu_entries {
    int32_t pair[2];  // the entry of CLU_ENTRY_TABLE
    uint32_t count, kept;
    uint32_t is_full;
    clu_piece pieces[CLU_PIECES];
    uint8_t bytes[CLU_PIECE_BYTES];
} clu_entries;

// The bytes of a word that lie in the copies; returns how many.
size_t clu_entries_copy(const clu_entries *entries, uint64_t address, uint64_t *word);
