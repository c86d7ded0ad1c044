// /proc/…/syscall shows SP and PC, not the frame pointer. Compilers that keep frame pointers put a record of two
// words at the frame pointer's address: the caller's frame pointer, then the return address. So the frame pointer
// is the address, somewhere above SP, of the record that is consistent: 16-byte aligned, its return address
// follows a call instruction in executable memory, that call (when direct) goes to the function we are in, and the
// chain of saved frame pointers climbs on in the same way. How far above SP, the function's prologue often says.
#define _GNU_SOURCE
#include "frame_record_search.h"

#include "cll_memory.h"

#include <string.h>

enum {
    SEARCH_BYTES = 64 * 1024,  // a frame larger than this is not searched through
    CHAIN_DEPTH = 6,           // records that must hold together
};

typedef enum { CALL_NONE = 0, CALL_ELSEWHERE, CALL_INDIRECT, CALL_DIRECT } call_kind;

int clu_memory_view_word(const memory_view *view, uint64_t address, uint64_t *word) {
    return snapshot_word(view->snapshot, address, word) || cll_memory_read(view->pid, address, word, 8) == 8;
}

static int clu_is_executable(const memory_view *view, uint64_t address) {
    int index = clu_module_find(view->table, address);
    if (index < 0) return clu_is_in_code_range(view->table, address);
    const clu_module *module = &view->table->modules[index];
    return address >= module->text_start && address < module->text_end;
}

#if defined(__x86_64__)
static const uint8_t endbr64[4] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t set_frame[4] = {0x55, 0x48, 0x89, 0xe5};  // push rbp; mov rbp, rsp

// Where a jump through a table (a PLT stub, with or without endbr64 and bnd) leads; 0 when `code` is no such jump.
static uint64_t clu_stub_target(const memory_view *view, uint64_t code) {
    uint8_t bytes[16];
    if (cll_memory_read(view->pid, code, bytes, sizeof(bytes)) != sizeof(bytes)) return 0;
    uint64_t at = 0;
    if (memcmp(bytes, endbr64, 4) == 0) at = 4;
    if (bytes[at] == 0xf2) at++;
    if (bytes[at] != 0xff || bytes[at + 1] != 0x25) return 0;
    int32_t displacement;
    memcpy(&displacement, bytes + at + 2, 4);
    uint64_t target;
    return clu_memory_view_word(view, code + at + 6 + (uint64_t)(int64_t)displacement, &target) ? target : 0;
}

// Where a function goes on that is nothing but a jump, as compilers leave it of two that are the same; else the function itself.
static uint64_t clu_behind_jump(const memory_view *view, uint64_t function) {
    uint8_t code[16];
    if (cll_memory_read(view->pid, function, code, sizeof(code)) != sizeof(code)) return function;
    size_t at = memcmp(code, endbr64, 4) == 0 ? 4 : 0;
    if (code[at] == 0xeb) return function + at + 2 + (uint64_t)(int64_t)(int8_t)code[at + 1];  // jmp rel8
    if (code[at] != 0xe9) return function;  // jmp rel32
    int32_t displacement;
    memcpy(&displacement, code + at + 1, 4);
    return function + at + 5 + (uint64_t)(int64_t)displacement;
}

uint64_t clu_called_function(const memory_view *view, uint64_t return_address) {
    uint8_t bytes[8];
    int32_t displacement;
    if (!clu_is_executable(view, return_address) || cll_memory_read(view->pid, return_address - 8, bytes, 8) != 8) return 0;
    memcpy(&displacement, bytes + 4, 4);
    uint64_t target = return_address + (uint64_t)(int64_t)displacement, behind = 0;
    if (bytes[3] == 0xe8) {  // call rel32
        behind = clu_stub_target(view, target);
        if (behind == 0) behind = target;
    } else if (bytes[2] != 0xff || bytes[3] != 0x15 || !clu_memory_view_word(view, target, &behind)) {  // call [rip + disp32]
        return 0;
    }
    return clu_behind_jump(view, behind);
}

int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc) {
    uint8_t code[CLU_FUNCTION_BYTES];
    size_t size = pc - function;
    if (size > sizeof(code) || cll_memory_read(view->pid, function, code, size) != size) return 1;
    // Anywhere: it could be the next function that `pc` is in.
    return memmem(code, size, set_frame, sizeof(set_frame)) != NULL;
}

static call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function) {
    uint8_t bytes[8];
    if (cll_memory_read(view->pid, return_address - 8, bytes, 8) != 8) return CALL_NONE;
    if (bytes[3] == 0xe8) {  // call rel32
        int32_t displacement;
        memcpy(&displacement, bytes + 4, 4);
        uint64_t target = return_address + (uint64_t)(int64_t)displacement;
        if (target == function || clu_stub_target(view, target) == function) return CALL_DIRECT;
        // Could as well be the tail of an immediate: only executable targets are calls at all.
        return clu_is_executable(view, target) ? CALL_ELSEWHERE : CALL_NONE;
    }
    if (bytes[2] == 0xff && bytes[3] == 0x15) {  // call [rip + disp32]: a table entry, readable
        int32_t displacement;
        memcpy(&displacement, bytes + 4, 4);
        uint64_t target;
        if (!clu_memory_view_word(view, return_address + (uint64_t)(int64_t)displacement, &target)) return CALL_NONE;
        return target == function ? CALL_DIRECT : CALL_ELSEWHERE;
    }
    // ff /2, the indirect calls: the instruction is 2 to 7 bytes long, a REX prefix may stand before it.
    for (int length = 2; length <= 7; length++) {
        const uint8_t *code = bytes + 8 - length;
        if (code[0] != 0xff || (code[1] & 0x38) != 0x10) continue;
        int mod = code[1] >> 6, rm = code[1] & 7;
        int size = 2 + (mod != 3 && rm == 4) + (mod == 1 ? 1 : mod == 2 ? 4 : (mod == 0 && rm == 5) ? 4 : 0);
        if (size == length) return CALL_INDIRECT;
    }
    return CALL_NONE;
}
#else
uint64_t clu_called_function(const memory_view *view, uint64_t return_address) { return 0; }

int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc) { return 1; }

static call_kind clu_call_before(const memory_view *view, uint64_t return_address, uint64_t function) {
    uint32_t instruction;
    if (cll_memory_read(view->pid, return_address - 4, &instruction, 4) != 4) return CALL_NONE;
    if ((instruction & 0xfc000000u) == 0x94000000u) {  // BL imm26
        int64_t words = (int64_t)((uint64_t)instruction << 38) >> 38;
        uint64_t target = return_address - 4 + (uint64_t)(words * 4);
        return target == function ? CALL_DIRECT : CALL_ELSEWHERE;
    }
    if ((instruction & 0xfffffc1fu) == 0xd63f0000u) return CALL_INDIRECT;  // BLR
    return CALL_NONE;
}
#endif

// Whether a signal handler returns there: the kernel lets it, without a call before that place (rt_sigreturn(2)). A handler that ends in a jump leaves
// the function that it jumps to with this return address.
static int clu_is_signal_return(const memory_view *view, uint64_t address) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};  // mov rax, 15; syscall
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};  // mov x8, 139; svc 0
#endif
    uint8_t bytes[sizeof(code)];
    return cll_memory_read(view->pid, address, bytes, sizeof(bytes)) == sizeof(bytes) && memcmp(bytes, code, sizeof(code)) == 0;
}

int clu_is_plausible_return_address(const memory_view *view, uint64_t address) {
    return clu_is_executable(view, address) && clu_call_before(view, address, 0) != CALL_NONE;
}

#if defined(__x86_64__)
uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved) {
    // Such code keeps its stack aligned to words, not always to 16 bytes.
    if ((record & 7) != 0 || record < sp || record > UINT64_MAX - 16) return 0;
    if (view->snapshot->stack_high != 0 && record + 16 > view->snapshot->stack_high) return 0;
    uint64_t caller;
    if (!clu_memory_view_word(view, record, saved) || !clu_memory_view_word(view, record + 8, &caller)) return 0;
    return clu_is_plausible_return_address(view, caller) ? caller : 0;
}
#else
// A record may lie at the lower end of its frame there, so the caller's stack pointer stays unknown.
uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved) { return 0; }
#endif

// How many records above `record` hold together, up to CHAIN_DEPTH; a zero frame pointer ends a chain well.
static int clu_chain_length(const memory_view *view, uint64_t record) {
    for (int depth = 0; depth < CHAIN_DEPTH; depth++) {
        uint64_t saved, return_address;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_word(view, record + 8, &return_address)) return depth;
        if (!clu_is_plausible_return_address(view, return_address)) return depth;
        if (saved == 0) return CHAIN_DEPTH;
        if ((saved & 15) != 0 || saved <= record) return depth + 1;
        if (view->snapshot->stack_high != 0 && saved >= view->snapshot->stack_high) return depth + 1;
        record = saved;
    }
    return CHAIN_DEPTH;
}

#if defined(__x86_64__)
// The frame pointer as the function's own prologue says it: `push rbp; mov rbp, rsp`, pushes of callee-saved registers,
// `sub rsp, size`. At a call the stack pointer is then exactly so far below (unless arguments were pushed or the frame
// grew since: then the record that is found there will not be one). 0 where the code begins in another way.
static uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function) {
    uint8_t code[48];
    if (function == 0 || cll_memory_read(view->pid, function, code, sizeof(code)) != sizeof(code)) return 0;
    size_t at = memcmp(code, endbr64, 4) == 0 ? 4 : 0;
    if (memcmp(code + at, set_frame, 4) != 0) return 0;
    uint64_t below = 0;
    for (at += 4; at + 7 <= sizeof(code);) {
        const uint8_t *instruction = code + at;
        if ((instruction[0] & 0xf8) == 0x50) {  // push rax…rdi
            below += 8;
            at += 1;
        } else if (instruction[0] == 0x41 && (instruction[1] & 0xf8) == 0x50) {  // push r8…r15
            below += 8;
            at += 2;
        } else if (instruction[0] == 0x48 && instruction[1] == 0x83 && instruction[2] == 0xec) {  // sub rsp, imm8
            return sp + below + instruction[3];
        } else if (instruction[0] == 0x48 && instruction[1] == 0x81 && instruction[2] == 0xec) {  // sub rsp, imm32
            uint32_t size;
            memcpy(&size, instruction + 3, 4);
            return sp + below + size;
        } else {
            return sp + below;
        }
    }
    return 0;
}
#else
static uint64_t clu_prologue_frame_pointer(const memory_view *view, uint64_t sp, uint64_t function) { return 0; }
#endif

// The best record, and in `proved` whether a direct call of this very function stands before its return address.
static uint64_t clu_search_upward(const memory_view *view, uint64_t sp, uint64_t function, int *proved) {
    *proved = 0;
    uint64_t high = sp + SEARCH_BYTES;
    if (view->snapshot->stack_high != 0 && high > view->snapshot->stack_high) high = view->snapshot->stack_high;
    uint64_t best = 0;
    int best_score = 0;
    for (uint64_t record = (sp + 15) & ~15ull; record + 16 <= high; record += 16) {
        uint64_t saved, return_address;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_word(view, record + 8, &return_address)) break;
        if (!clu_is_executable(view, return_address)) continue;
        call_kind kind = clu_call_before(view, return_address, function);
        if (kind == CALL_NONE) continue;
        // A direct call of this very function is proof enough, even where the caller uses its frame pointer's register
        // for something else; the nearest wins.
        if (kind == CALL_DIRECT) {
            *proved = 1;
            return record;
        }
        if (saved != 0 && saved <= record) continue;
        // Else: an indirect call may have come here; a direct call elsewhere only if that one ended in a jump to us.
        int chain = clu_chain_length(view, record);
        int score = chain + (kind == CALL_INDIRECT ? 4 : 0);
        if (chain >= 2 && score > best_score) {
            best = record;
            best_score = score;
        }
    }
    return best;
}

uint64_t clu_frame_record_search(const memory_view *view, uint64_t sp, uint64_t function) {
    uint64_t expected = clu_prologue_frame_pointer(view, sp, function), return_address;
    call_kind kind = CALL_NONE;
    if (expected != 0 && (expected & 15) == 0 && clu_memory_view_word(view, expected + 8, &return_address) && clu_is_executable(view, return_address)) {
        kind = clu_call_before(view, return_address, function);
        // Only where the prologue says so: old signal frames lie about in every stack.
        if (kind == CALL_NONE && clu_is_signal_return(view, return_address)) kind = CALL_DIRECT;
    }
    if (kind == CALL_DIRECT) return expected;
    // Without that proof the prologue may mislead: a frame that grew since (alloca, pushed arguments) has old records of
    // earlier calls where it points to. A record that is proved goes before it.
    int proved;
    uint64_t found = clu_search_upward(view, sp, function, &proved);
    return proved || kind == CALL_NONE ? found : expected;
}
