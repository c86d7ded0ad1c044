// x86-64: a call is 2 to 7 bytes long and leaves its return address on the stack.
#define _GNU_SOURCE
#include "code_at.h"

#if defined(__x86_64__)

#include "cll_memory.h"
#include "instruction_x86_64.h"

#include <string.h>

enum {
    CLU_PROLOGUE_BYTES = 256,
    EPILOGUE_PIECE_BYTES = 1024,
};

static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t set_frame[3] = {0x48, 0x89, 0xe5};  // mov rbp, rsp

// The destination of a jump through a table (a PLT stub, with or without endbr64 and bnd); 0 if `code` is not such a
// jump.
static uint64_t clu_stub_target(const memory_view *view, uint64_t code) {
    uint8_t bytes[4 + 1 + 6] = {0};  // not more: it may be the last code that is mapped there
    size_t count = clu_memory_view_read(view, code, bytes, sizeof(bytes));
    uint64_t at = 0;
    if (memcmp(bytes, endbr64, 4) == 0) at = 4;
    if (bytes[at] == 0xf2) at++;
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25 || count < at + 6) return 0;
    int32_t displacement;
    memcpy(&displacement, bytes + at + 2, 4);
    uint64_t target;
    return clu_memory_view_word(view, code + at + 6 + (uint64_t)(int64_t)displacement, &target) ? target : 0;
}

// If a function is only a jump (compilers leave this for one of two identical functions), the destination; otherwise
// the function itself.
static uint64_t clu_behind_jump(const memory_view *view, uint64_t function) {
    uint8_t code[4 + 5] = {0};
    size_t count = clu_memory_view_read(view, function, code, sizeof(code));
    size_t at = memcmp(code, endbr64, 4) == 0 ? 4 : 0;
    if (code[at] == 0xeb && count >= at + 2) return function + at + 2 + (uint64_t)(int64_t)(int8_t)code[at + 1];  // jmp rel8
    if (code[at] != 0xe9 || count < at + 5) return function;  // jmp rel32
    int32_t displacement;
    memcpy(&displacement, code + at + 1, 4);
    return function + at + 5 + (uint64_t)(int64_t)displacement;
}

// The final destination of a call: past a table's stub, past code that continues in the variant for this processor,
// and past a jump.
static uint64_t clu_destination(const memory_view *view, uint64_t function) {
    enum { STUBS = 3 };
    uint64_t behind;
    for (int stubs = 0; stubs < STUBS && (behind = clu_stub_target(view, function)) != 0; stubs++) function = behind;
    return clu_behind_jump(view, function);
}

uint64_t clu_called_function(const memory_view *view, uint64_t return_address) {
    uint8_t bytes[8];
    int32_t displacement;
    if (!clu_is_executable(view, return_address) || clu_memory_view_read(view, return_address - 8, bytes, 8) != 8) return 0;
    memcpy(&displacement, bytes + 4, 4);
    uint64_t target = return_address + (uint64_t)(int64_t)displacement;
    if (bytes[3] == 0xe8) return clu_destination(view, target);  // call rel32
    if (bytes[2] != 0xff || bytes[3] != 0x15 || !clu_memory_view_word(view, target, &target)) return 0;  // call [rip + disp32]
    return clu_destination(view, target);
}

// Whether the code of a function may continue between two places or, if `below` is 0, anywhere outside it; `unknown`
// if it cannot be followed.
static int clu_goes_on(const memory_view *view, uint64_t function, uint64_t end, uint64_t at_least, uint64_t below, int unknown) {
    uint8_t code[CLU_FUNCTION_BYTES];
    const size_t size = end - function;
    if (size > sizeof(code) || clu_memory_view_read(view, function, code, size) != size) return unknown;
    clu_instruction instruction;
    for (size_t at = 0; at < size; at += instruction.length) {
        if (!clu_decode(code + at, size - at, &instruction)) return unknown;
        if (instruction.flow == CLU_FLOW_JUMPS && !instruction.has_target) return 1;
        if (!instruction.has_target) continue;
        const uint64_t target = function + at + instruction.length + (uint64_t)instruction.target;
        if (target >= function && target < end) continue;
        if (below == 0) return 1;
        const uint64_t place = clu_destination(view, target);
        if (place >= at_least && place < below) return 1;
    }
    return 0;
}

int clu_may_jump_out(const memory_view *view, uint64_t function, uint64_t end) { return clu_goes_on(view, function, end, 0, 0, 1); }

int clu_may_jump_to(const memory_view *view, uint64_t function, uint64_t end, uint64_t pc) {
    const uint64_t first = pc < CLU_EPILOGUE_BYTES ? 0 : pc - CLU_EPILOGUE_BYTES + 1;
    return clu_goes_on(view, function, end, first, pc + 1, 0);
}

int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc) {
    uint8_t code[CLU_FUNCTION_BYTES];
    size_t size = pc - function;
    if (size > sizeof(code) || clu_memory_view_read(view, function, code, size) != size) return 1;
    // Searched everywhere: `pc` could be in the next function.
    return memmem(code, size, set_frame, sizeof(set_frame)) != NULL;
}

clu_call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function) {
    uint8_t bytes[8];
    if (clu_memory_view_read(view, return_address - 8, bytes, 8) != 8) return CALL_NONE;
    if (bytes[3] == 0xe8) {  // call rel32
        int32_t displacement;
        memcpy(&displacement, bytes + 4, 4);
        uint64_t target = return_address + (uint64_t)(int64_t)displacement;
        if (function != 0 && (target == function || clu_stub_target(view, target) == function)) return CALL_DIRECT;
        // It could also be the end of an immediate: only executable targets are calls at all.
        return clu_is_executable(view, target) ? CALL_ELSEWHERE : CALL_NONE;
    }
    if (bytes[2] == 0xff && bytes[3] == 0x15) {  // call [rip + disp32]: a table entry, readable
        int32_t displacement;
        memcpy(&displacement, bytes + 4, 4);
        uint64_t target;
        if (!clu_memory_view_word(view, return_address + (uint64_t)(int64_t)displacement, &target)) return CALL_NONE;
        return target == function ? CALL_DIRECT : CALL_ELSEWHERE;
    }
    // ff /2, the indirect calls: the instruction is 2 to 7 bytes long, and may have a REX prefix.
    for (int length = 2; length <= 7; length++) {
        const uint8_t *code = bytes + 8 - length;
        if (code[0] != 0xff || (code[1] & 0x38) != 0x10) continue;
        int mod = code[1] >> 6, rm = code[1] & 7;
        int size = 2 + (mod != 3 && rm == 4) + (mod == 1 ? 1 : mod == 2 ? 4 : (mod == 0 && rm == 5) ? 4 : 0);
        if (size == length) return CALL_INDIRECT;
    }
    return CALL_NONE;
}

uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved) {
    // Such code keeps its stack aligned to words, not always to 16 bytes.
    if ((record & 7) != 0 || record < sp || record > UINT64_MAX - 16) return 0;
    if (view->snapshot->stack_high != 0 && record + 16 > view->snapshot->stack_high) return 0;
    uint64_t caller;
    if (!clu_memory_view_word(view, record, saved) || !clu_memory_view_word(view, record + 8, &caller)) return 0;
    return clu_is_plausible_return_address(view, caller) ? caller : 0;
}

// What a function's code has done to its frame by `pc`, or by its first call or jump; jumps before its record is
// created belong to calls that need no record.
typedef struct prologue {
    int64_t below_return;  // the stack pointer, below the return address
    int64_t below_record;  // the same below the frame record; -1: none, or the frame pointer does not point to it
} prologue;

// `push rbp`, `mov rbp, rsp`, then pushes and reservations on the stack, among other instructions. At a call the
// stack pointer is exactly this far below (unless arguments were pushed or the frame has grown since: then there will
// be no record at that place). 0 if the code cannot be followed.
static int clu_follow_prologue(const memory_view *view, uint64_t function, uint64_t pc, prologue *found) {
    uint8_t code[CLU_PROLOGUE_BYTES];
    if (function == 0) return 0;
    size_t count = clu_memory_view_read(view, function, code, sizeof(code));
    *found = (prologue){.below_return = 0, .below_record = -1};
    int64_t saved = -1;
    clu_instruction instruction;
    for (size_t at = 0; clu_decode(code + at, count - at, &instruction); at += instruction.length) {
        const int is_framed = found->below_record >= 0;
        if (function + at == pc || instruction.flow >= CLU_FLOW_LEAVES || (instruction.flow == CLU_FLOW_BRANCH && is_framed)) return 1;
        if (instruction.moves_stack) return is_framed;
        found->below_return += instruction.grows;
        if (instruction.saves_frame && !is_framed) {
            saved = 0;
        } else if (saved >= 0) {
            saved += instruction.grows;
        }
        if (found->below_return < 0 || saved < -1) return 0;
        if (instruction.sets_frame && saved != 0) return 0;
        if (instruction.sets_frame || is_framed) found->below_record = saved;
    }
    return found->below_record >= 0;
}

uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function, uint64_t pc) {
    prologue found;
    return clu_follow_prologue(view, function, pc, &found) && found.below_record >= 0 ? sp + (uint64_t)found.below_record : 0;
}

uint64_t clu_prologue_return_slot(const memory_view *view, uint64_t sp, uint64_t fp, uint64_t function, uint64_t pc) {
    prologue found;
    if (!clu_follow_prologue(view, function, pc, &found)) return 0;
    return found.below_record >= 0 ? fp + 8 : sp + (uint64_t)found.below_return;
}

uint64_t clu_return_slot_of_epilogue(const memory_view *view, uint64_t pc, uint64_t sp, uint64_t *frame) {
    uint8_t code[EPILOGUE_PIECE_BYTES];
    const uint64_t end = pc + CLU_EPILOGUE_BYTES;
    // Registers are known only for a thread that was found there.
    const cll_snapshot *snapshot = view->snapshot;
    const uint64_t known = snapshot->registers[CLL_REGISTER_PC] == pc && snapshot->registers[CLL_REGISTER_SP] == sp ? snapshot->known : 0;
    uint64_t at = pc, place = sp;
    uint64_t read_from[16] = {0};  // the stack address from which a register was read
    int is_known = 1, saved_frame = 0;
    *frame = 0;
    while (at < end && clu_is_executable(view, at)) {  // there may be anything after the code
        size_t count = clu_memory_view_read(view, at, code, sizeof(code)), used = 0;
        clu_instruction instruction;
        for (; at < end && clu_decode(code + used, count - used, &instruction); used += instruction.length, at += instruction.length) {
            if (instruction.flow == CLU_FLOW_RETURNS) return is_known && place >= sp ? place : 0;
            // It leaves to another function like this instead of calling it.
            if (instruction.flow == CLU_FLOW_JUMPS && is_known && place > sp) return place;
            // Another function begins there.
            if (code[used] == 0xcc || (at > pc && count - used >= 4 && memcmp(code + used, endbr64, 4) == 0)) return 0;
            if (saved_frame && instruction.sets_frame) return 0;
            saved_frame = instruction.saves_frame;
            if (instruction.flow != CLU_FLOW_ON) {
                // What follows is reached from elsewhere: in the middle of the function the stack pointer is mostly
                // the same.
                place = sp;
                is_known = 1;
                *frame = 0;
                memset(read_from, 0, sizeof(read_from));
                continue;
            }
            const uint64_t read = instruction.loads ? place + (uint64_t)instruction.restored_from : 0;
            const int source = instruction.stack_grows_by ? instruction.stack_grows_by : instruction.stack_register;
            const uint64_t kept = instruction.loads ? read : source ? read_from[source - 1] : 0;
            uint64_t word;
            if (instruction.moves_stack && is_known && kept != 0 && clu_memory_view_word(view, kept, &word)) {
                // Code that aligns its stack stores there how far the stack pointer was moved, or its old value.
                place = word + (instruction.stack_grows_by ? place : (uint64_t)instruction.stack_further);
            } else if (instruction.moves_stack) {
                is_known = instruction.stack_from != 0 && (known & 1ull << instruction.stack_from) != 0;
                if (is_known) place = snapshot->registers[instruction.stack_from] + (uint64_t)instruction.stack_further;
            }
            for (int reg = 0; reg < 16; reg++) {
                if (instruction.names >> reg & 1) read_from[reg] = 0;
            }
            if (instruction.loads && is_known) read_from[instruction.loads - 1] = read;
            if (instruction.restores_frame) *frame = place + (uint64_t)instruction.restored_from;
            place -= (uint64_t)instruction.grows;
        }
        if (used == 0) return 0;
    }
    return 0;
}

#endif
