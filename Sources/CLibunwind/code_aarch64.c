// AArch64: an instruction is four bytes long. A call leaves its return address in the link register; a function that
// makes calls saves it together with the frame pointer (AAPCS64, 6.4.6), anywhere in its frame.
#define _GNU_SOURCE
#include "code_at.h"

#if defined(__aarch64__)

#include "cll_instruction.h"
#include "cll_memory.h"

#include <string.h>

enum { BTI_C = 0xd503245f, PROLOGUE_INSTRUCTIONS = 48 };

static int64_t clu_signed(uint64_t value, int bits) { return (int64_t)(value << (64 - bits)) >> (64 - bits); }

// How many instructions from an address on could be read.
static size_t clu_read_code(const memory_view *view, uint64_t address, uint32_t *code, size_t count) {
    return (address & 3) != 0 ? 0 : clu_memory_view_read(view, address, code, count * sizeof(*code)) / sizeof(*code);
}

static uint64_t clu_branch_target(uint32_t instruction, uint64_t address) {
    return address + (uint64_t)(clu_signed(instruction & 0x3ffffff, 26) * 4);
}

uint64_t clu_direct_call(uint32_t instruction, uint64_t address) {
    return (instruction & 0xfc000000) == 0x94000000 ? clu_branch_target(instruction, address) : 0;  // bl
}

// The destination of a stub: a jump through a table, which linkers create for calls of other modules, or a far jump.
// 0: it is not a stub.
static uint64_t clu_stub_target(const memory_view *view, uint64_t address) {
    uint32_t code[5];
    size_t count = clu_read_code(view, address, code, 5), at = 0;
    if (count > 0 && code[0] == BTI_C) at++;
    if (count < at + 3 || (code[at] & 0x9f00001f) != 0x90000010) return 0;  // adrp x16
    uint64_t pages = (uint64_t)(code[at] >> 5 & 0x7ffff) << 2 | (code[at] >> 29 & 3);
    uint64_t page = ((address + at * 4) & ~0xfffull) + (uint64_t)(clu_signed(pages, 21) * 4096);
    uint32_t next = code[at + 1];
    uint64_t offset = next >> 10 & 0xfff, target = 0;
    if ((next & 0xffc003ff) == 0xf9400211) return clu_memory_view_word(view, page + offset * 8, &target) ? target : 0;  // ldr x17, [x16, …]
    if ((next & 0xffc003ff) == 0x91000210 && code[at + 2] == 0xd61f0200) return page + offset;  // add x16, x16, …; br x16
    return 0;
}

uint64_t clu_destination(const memory_view *view, uint64_t target) {
    uint64_t behind = clu_stub_target(view, target);
    if (behind != 0) target = behind;
    uint32_t code[2];
    size_t count = clu_read_code(view, target, code, 2), at = 0;
    if (count > 0 && code[0] == BTI_C) at++;
    if (count <= at || (code[at] & 0xfc000000) != 0x14000000) return target;  // b
    return clu_branch_target(code[at], target + at * 4);
}

uint64_t clu_called_function(const memory_view *view, uint64_t return_address) {
    uint32_t instruction;
    if (!clu_is_executable(view, return_address) || clu_read_code(view, return_address - 4, &instruction, 1) != 1) return 0;
    uint64_t target = clu_direct_call(instruction, return_address - 4);
    return target != 0 ? clu_destination(view, target) : 0;
}

clu_call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function) {
    uint32_t instruction;
    if (clu_read_code(view, return_address - 4, &instruction, 1) != 1) return CALL_NONE;
    uint64_t target = clu_direct_call(instruction, return_address - 4);
    if (target != 0) {
        if (function != 0 && (target == function || clu_destination(view, target) == function)) return CALL_DIRECT;
        return clu_is_executable(view, target) ? CALL_ELSEWHERE : CALL_NONE;
    }
    return (instruction & 0xfffffc1f) == 0xd63f0000 ? CALL_INDIRECT : CALL_NONE;  // blr
}

// MARK: Prologues

// Follows one instruction of a prologue; any other instruction changes nothing here. 0: the stack pointer gets a
// value that cannot be followed.
static int clu_follow(uint32_t instruction, clu_frame_layout *layout) {
    const int64_t pair = clu_signed(instruction >> 15 & 0x7f, 7) * 8;
    const int is_record = (instruction & 0x7fff) == 0x7bfd;  // x29, x30 to the stack
    if ((instruction & 0xffc003e0) == 0xa98003e0 || (instruction & 0xffc003e0) == 0x6d8003e0) {  // stp …, [sp, #-n]!
        layout->below_cfa += (uint64_t)-pair;
        if (is_record && instruction >> 24 == 0xa9) {
            layout->record_below = layout->below_cfa;
            layout->has_record = layout->saves_return = 1;
        }
    } else if ((instruction & 0xffc07fff) == 0xa9007bfd) {  // stp x29, x30, [sp, #n]
        layout->record_below = layout->below_cfa - (uint64_t)pair;
        layout->has_record = layout->saves_return = 1;
    } else if ((instruction & 0xfbe00fe0) == 0xf8000fe0) {  // str x… or d…, [sp, #-n]!
        layout->below_cfa += (uint64_t)-clu_signed(instruction >> 12 & 0x1ff, 9);
        if ((instruction & 0x0400001f) == 30) layout->saves_return = 1;
    } else if ((instruction & 0xffc003ff) == 0xf90003fe) {  // str x30, [sp, #n]
        layout->saves_return = 1;
    } else if ((instruction & 0xff8003ff) == 0xd10003ff) {  // sub sp, sp, #n
        layout->below_cfa += (uint64_t)(instruction >> 10 & 0xfff) << ((instruction >> 22 & 1) * 12);
    } else if ((instruction & 0xffc003ff) == 0x910003fd) {  // add x29, sp, #n; mov x29, sp
        layout->sets_frame_pointer = layout->has_record && layout->below_cfa - (instruction >> 10 & 0xfff) == layout->record_below;
    } else if (
        (instruction & 0xffe0ffff) == 0xcb2063ff || (instruction & 0xff00001f) == 0x9100001f  // sub sp, sp, x…; add sp, …
        || (instruction & 0xff80001f) == 0x9200001f                                           // and sp, …: realigned
        || (instruction & 0xffc003e0) == 0xad8003e0 || (instruction & 0xffe00fe0) == 0x3c800fe0  // stp q…, str q…, [sp, #-n]!
    ) {
        return 0;
    }
    return 1;
}

int clu_frame_layout_of(const memory_view *view, uint64_t function, uint64_t pc, clu_frame_layout *layout) {
    memset(layout, 0, sizeof(*layout));
    uint32_t code[PROLOGUE_INSTRUCTIONS];
    size_t count = function == 0 ? 0 : clu_read_code(view, function, code, PROLOGUE_INSTRUCTIONS);
    for (size_t index = 0; index < count; index++) {
        if (function + index * 4 == pc || cll_leaves_straight_line(code[index])) return 1;
        if (!clu_follow(code[index], layout)) return 0;
    }
    return 0;
}

int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc) {
    clu_frame_layout layout;
    return !clu_frame_layout_of(view, function, pc, &layout) || layout.has_record;
}

uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function, uint64_t pc) {
    clu_frame_layout layout;
    if (!clu_frame_layout_of(view, function, pc, &layout) || !layout.sets_frame_pointer) return 0;
    return sp + (layout.below_cfa - layout.record_below);
}

// How far a jump or a branch with a known target leads; 0: it is neither. Arm Architecture Reference Manual, C6.2.
static int64_t clu_branch_distance(uint32_t instruction) {
    int low = 5, bits;
    if (instruction >> 26 == 0x05) {  // b
        low = 0;
        bits = 26;
    } else if (instruction >> 24 == 0x54 || (instruction & 0x7e000000) == 0x34000000) {  // b.cond, cbz, cbnz
        bits = 19;
    } else if ((instruction & 0x7e000000) == 0x36000000) {  // tbz, tbnz
        bits = 14;
    } else {
        return 0;
    }
    return (int64_t)((uint64_t)instruction << (64 - low - bits)) >> (64 - bits) << 2;
}

int clu_may_jump_out(const memory_view *view, uint64_t function, uint64_t end) {
    uint32_t code[CLU_FUNCTION_BYTES / 4];
    const uint64_t size = end - function;
    if (size > sizeof(code) || clu_memory_view_read(view, function, code, size) != size) return 1;
    for (uint64_t index = 0; index < size / 4; index++) {
        if ((code[index] & 0xfffffc1f) == 0xd61f0000 || (code[index] & 0xfefff800) == 0xd61f0800) return 1;  // br, braa and similar
        const uint64_t target = function + index * 4 + (uint64_t)clu_branch_distance(code[index]);
        if (target < function || target >= end) return 1;
    }
    return 0;
}

uint64_t clu_prologue_return_slot(const memory_view *view, uint64_t sp, uint64_t fp, uint64_t function, uint64_t pc) {
    clu_frame_layout layout;
    return clu_frame_layout_of(view, function, pc, &layout) && layout.sets_frame_pointer ? fp + 8 : 0;
}

uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved) {
    if ((record & 15) != 0 || record < sp || record > UINT64_MAX - 16) return 0;
    if (view->snapshot->stack_high != 0 && record + 16 > view->snapshot->stack_high) return 0;
    uint64_t caller;
    if (!clu_memory_view_word(view, record, saved) || !clu_memory_view_return_address(view, record + 8, &caller)) return 0;
    return clu_is_plausible_return_address(view, caller) ? caller : 0;
}

#endif
