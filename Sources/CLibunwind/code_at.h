// Analyses the machine code around a call: where a call leads, and how a function lays out its frame. code_x86_64.c
// and code_aarch64.c. Private to this target.
#pragma once

#include "frame_record_search.h"

typedef enum { CALL_NONE = 0, CALL_ELSEWHERE, CALL_INDIRECT, CALL_DIRECT } clu_call_kind;

// The call before a return address; CALL_DIRECT if it leads to `function`, also through a table.
clu_call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function);

// The frame pointer of a function at `pc`, from its stack pointer and its code up to there, or up to its first jump
// or call; 0 if that cannot be followed, or sets no frame pointer.
uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function, uint64_t pc);

// The address of the return address of a function at `pc`, from the same code, its stack pointer and its frame
// pointer; 0: not known.
uint64_t clu_prologue_return_slot(const memory_view *view, uint64_t sp, uint64_t fp, uint64_t function, uint64_t pc);

// Whether the code of a function, which ends at `end`, may continue in another one instead of calling it: it has a
// jump out of it, or through a register or a table. Also true if it cannot be followed.
int clu_may_jump_out(const memory_view *view, uint64_t function, uint64_t end);

#if defined(__x86_64__)
// How far its end is searched: unrolled loops are long.
enum { CLU_EPILOGUE_BYTES = 32 * 1024 };

// The address of the return address of code at `pc` with the stack pointer `sp`, from what the code pops before it
// returns. `frame` is the address of its caller's frame pointer; 0: it is in its register. 0: the code ends in
// another way, or is longer than what is read.
uint64_t clu_return_slot_of_epilogue(const memory_view *view, uint64_t pc, uint64_t sp, uint64_t *frame);

// Whether the code of a function, which ends at `end`, may jump to the code that contains `pc`: to code before it, or
// through a register or a table. False if it cannot be followed.
int clu_may_jump_to(const memory_view *view, uint64_t function, uint64_t end, uint64_t pc);
#endif

#if defined(__aarch64__)
// What a function's code has done to its frame when it reaches some address.
typedef struct clu_frame_layout {
    uint64_t below_cfa;     // how far the stack pointer is below its value at the function's beginning, which DWARF calls CFA
    uint64_t record_below;  // the same for the frame record
    int has_record;         // the record is written
    int sets_frame_pointer; // and the frame pointer points to it
    int saves_return;       // the link register is saved, in a record or without one
} clu_frame_layout;

// Follows the code from a function's beginning to its first jump or call, or to `pc`. 0: it cannot be followed.
int clu_frame_layout_of(const memory_view *view, uint64_t function, uint64_t pc, clu_frame_layout *layout);

// The final destination of a call or a jump to this address: past a table's stub, and past a function that is only a
// jump.
uint64_t clu_destination(const memory_view *view, uint64_t target);

// The destination of the instruction at an address, if it is a direct call; otherwise 0.
uint64_t clu_direct_call(uint32_t instruction, uint64_t address);
#endif
