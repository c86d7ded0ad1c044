// Entries of unwind tables (.eh_frame), checked and copied before libunwind sees them. Private to this target.
//
// The tables belong to the watched program, which may have written anything there, and may change them. libunwind
// trusts them: it divides by a value from an expression (INT64_MIN by -1 traps), accepts any register number, and
// allocates a state for each DW_CFA_remember_state that is never freed. So an entry is copied once, its copy is
// checked, and libunwind reads only the copy.
//
// On AArch64 the copy does not contain DW_CFA_AARCH64_negate_ra_state either (return_address.h).
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
    CLU_ENTRY_BYTES = 32 * 1024,   // a longer entry is refused; the longest of large programs have some hundred bytes
    CLU_COMMON_BYTES = 1024,       // the same for the common part of entries
    CLU_PIECES = 32,
    CLU_PIECE_BYTES = 4 * CLU_ENTRY_BYTES,
};

// Where libunwind finds the table with the only entry that it may see: an address that no program has.
#define CLU_ENTRY_TABLE UINT64_C(0xfffffffffff00000)

typedef struct clu_piece {
    uint64_t address;
    uint32_t size;
    uint32_t offset;  // in `bytes`
} clu_piece;

// Copies of entries, which do not overlap. libunwind caches what it has read of an entry, except its expressions: it
// reads those each time. So entries with expressions are kept, up to `kept`; the others are replaced by the next one.
typedef struct clu_entries {
    int32_t pair[2];  // the entry of CLU_ENTRY_TABLE
    uint32_t count, kept;
    uint32_t is_full;
    clu_piece pieces[CLU_PIECES];
    uint8_t bytes[CLU_PIECE_BYTES];
} clu_entries;

// Copies the bytes of a word that are in the copies; returns their number.
size_t clu_entries_copy(const clu_entries *entries, uint64_t address, uint64_t *word);
