// What the machine code around a call says: where a call leads, and how a function lays out its frame. code_x86_64.c and code_aarch64.c.
// Private to this target.
#pragma once

#include "frame_record_search.h"

typedef enum { CALL_NONE = 0, CALL_ELSEWHERE, CALL_INDIRECT, CALL_DIRECT } clu_call_kind;

// The call before a return address; CALL_DIRECT where it leads to `function`, also through a table.
clu_call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function);

// The frame pointer of a function at `pc`, by what its code does up to there, or to its first jump or call, and its stack pointer; 0 where that cannot be
// followed, or sets no frame pointer.
uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function, uint64_t pc);

// Where the return address of a function at `pc` is, by the same, its stack pointer and its frame pointer; 0: that is not known.
uint64_t clu_prologue_return_slot(const memory_view *view, uint64_t sp, uint64_t fp, uint64_t function, uint64_t pc);

// Whether the code of a function, which ends at `end`, may go on in another one instead of calling it: it has a jump out of it, or through a register or
// a table. Also if it cannot be followed.
int clu_may_jump_out(const memory_view *view, uint64_t function, uint64_t end);

#if defined(__x86_64__)
// So far its end is looked for: loops that were written out are long.
enum { CLU_EPILOGUE_BYTES = 32 * 1024 };

// Where code at `pc`, whose stack pointer is `sp`, has its return address, by what it takes from the stack before it returns; and in `frame` where its
// caller's frame pointer is, 0: in its register. 0: the code ends in another way, or is longer than is read.
uint64_t clu_return_slot_of_epilogue(const memory_view *view, uint64_t pc, uint64_t sp, uint64_t *frame);

// Whether the code of a function, which ends at `end`, may jump to code that `pc` is in: to what lies before it, or through a register or a table. Not if it cannot
// be followed.
int clu_may_jump_to(const memory_view *view, uint64_t function, uint64_t end, uint64_t pc);
#endif

#if defined(__aarch64__)
// What a function's code has done to its frame by the time it is at some address.
typedef struct clu_frame_layout {
    uint64_t below_cfa;     // how far the stack pointer is below what it was at the function's beginning, which DWARF calls CFA
    uint64_t record_below;  // the same of the frame record
    int has_record;         // the record is written
    int sets_frame_pointer; // and the frame pointer shows it
    int saves_return;       // the link register is saved, in a record or without one
} clu_frame_layout;

// Follows the code from a function's beginning to its first jump or call, or to `pc`. 0: it cannot be followed.
int clu_frame_layout_of(const memory_view *view, uint64_t function, uint64_t pc, clu_frame_layout *layout);

// Where a call or a jump to this address ends up: behind a table's stub, and behind a function that is nothing but a jump.
uint64_t clu_destination(const memory_view *view, uint64_t target);

// Where the instruction at an address leads, if it is a direct call; else 0.
uint64_t clu_direct_call(uint32_t instruction, uint64_t address);
#endif
