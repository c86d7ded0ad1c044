// /proc/…/syscall shows SP and PC, not the frame pointer. Compilers that keep frame pointers put a record of two
// words at the frame pointer's address: the caller's frame pointer, then the return address. So the frame pointer is
// the address, somewhere above SP, of the record that is consistent: it is 16-byte aligned, its return address
// follows a call instruction in executable memory, that call (if direct) leads to the present function, and the chain
// of saved frame pointers continues upward in the same way. The function's prologue often shows how far above SP it
// is.
#define _GNU_SOURCE
#include "frame_record_search.h"

#include "unwinder.h"

#include "cll_memory.h"
#include "code_at.h"
#include "return_address.h"

#include <string.h>

enum {
    SEARCH_BYTES = 64 * 1024,  // a larger frame is not searched
    CHAIN_DEPTH = 6,           // records that must form a chain
    LINK_DEPTH = 8,            // links of a record that are checked
    LINKS = 32,                // records that are checked like this
    PRESENT_CALLS = 4,         // of a read of memory that may be missing
};

// The content of a stack determines how much must be read.
static int clu_may_read(const memory_view *view, uint32_t calls) {
    if (*view->reads_left < calls) return 0;
    *view->reads_left -= calls;
    return 1;
}

size_t clu_memory_view_read(const memory_view *view, uint64_t address, void *buffer, size_t size) {
    return clu_may_read(view, 1) ? cll_memory_read(view->pid, address, buffer, size) : 0;
}

int clu_memory_view_word(const memory_view *view, uint64_t address, uint64_t *word) {
    return snapshot_word(view->snapshot, address, word) || (clu_may_read(view, PRESENT_CALLS) && cll_memory_read_present(view->pid, address, word, 8) == 8);
}

int clu_memory_view_return_address(const memory_view *view, uint64_t address, uint64_t *found) {
    if (!clu_memory_view_word(view, address, found)) return 0;
    *found = clu_return_address_without_code(*found);
    return 1;
}

int clu_is_executable(const memory_view *view, uint64_t address) {
    int index = clu_module_find(view->table, address);
    if (index < 0) return clu_code_kind(view->table, address) != CLU_CODE_NONE;
    const clu_module *module = &view->table->modules[index];
    return address >= module->text_start && address < module->text_end;
}

// Whether a signal handler returns there: the kernel causes this, without a call before that place (rt_sigreturn(2)).
// A handler that ends in a jump leaves this return address to the function to which it jumps.
static int clu_is_signal_return(const memory_view *view, uint64_t address) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};  // mov rax, 15; syscall
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};  // mov x8, 139; svc 0
#endif
    uint8_t bytes[sizeof(code)];
    return clu_memory_view_read(view, address, bytes, sizeof(bytes)) == sizeof(bytes) && memcmp(bytes, code, sizeof(code)) == 0;
}

int clu_is_plausible_return_address(const memory_view *view, uint64_t address) {
    return clu_is_executable(view, address) && clu_call_before(view, address, 0) != CALL_NONE;
}

// How many records above `record` form a chain, up to CHAIN_DEPTH; a zero frame pointer ends a chain correctly.
static int clu_chain_length(const memory_view *view, uint64_t record) {
    for (int depth = 0; depth < CHAIN_DEPTH; depth++) {
        uint64_t saved, return_address;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_return_address(view, record + 8, &return_address)) return depth;
        if (!clu_is_plausible_return_address(view, return_address)) return depth;
        if (saved == 0) return CHAIN_DEPTH;
        if ((saved & 15) != 0 || saved <= record) return depth + 1;
        if (view->snapshot->stack_high != 0 && saved >= view->snapshot->stack_high) return depth + 1;
        record = saved;
    }
    return CHAIN_DEPTH;
}

// Whether the record's caller was really called at the place to which the record returns. Frames that grow at run
// time (alloca) contain whole stacks of earlier calls; but where such a stack meets the live one, the return address
// follows a call of another function.
static int clu_is_refuted(clu_unwinder *unwinder, uint64_t record) {
    const memory_view *view = &unwinder->view;
    for (int depth = 0; depth < LINK_DEPTH; depth++) {
        uint64_t saved, return_address, next;
        clu_function caller;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_return_address(view, record + 8, &return_address)) return 0;
        if (!clu_find_function(unwinder, return_address - 1, &caller)) return 0;
        uint64_t slot = clu_prologue_return_slot(view, record + 16, saved, caller.start, return_address - 1);
        if (slot <= record + 8 || slot % 8 != 0 || !clu_memory_view_return_address(view, slot, &next) || !clu_is_executable(view, next)) return 0;
        clu_call_kind kind = clu_call_before(view, next, caller.start);
        const uint64_t called = clu_called_function(view, next);
        if (called == caller.start) kind = CALL_DIRECT;
        // Unless the other function may have ended in a jump.
        clu_function other;
        if (kind == CALL_ELSEWHERE) return called != 0 && clu_find_function(unwinder, called, &other) && !clu_may_jump_out(view, other.start, other.end);
        // Further out only by records.
        if (kind != CALL_DIRECT || slot != saved + 8) return 0;
        record = saved;
    }
    return 0;
}

// The best record from `low` on; `proved` is whether a direct call of this very function precedes its return address.
static uint64_t clu_search_upward(clu_unwinder *unwinder, uint64_t low, uint64_t function, int *proved) {
    const memory_view *view = &unwinder->view;
    *proved = 0;
    uint64_t high = low + SEARCH_BYTES;
    if (view->snapshot->stack_high != 0 && high > view->snapshot->stack_high) high = view->snapshot->stack_high;
    uint64_t best = 0, refuted = 0;
    int best_score = 0, links = 0;
    for (uint64_t record = (low + 15) & ~15ull; record + 16 <= high; record += 16) {
        uint64_t saved, return_address;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_return_address(view, record + 8, &return_address)) break;
        if (!clu_is_executable(view, return_address)) continue;
        clu_call_kind kind = clu_call_before(view, return_address, function);
        if (kind == CALL_NONE) continue;
        // A direct call of this very function is sufficient proof, even if the caller uses its frame pointer's
        // register for something else; the nearest one wins among those that nothing contradicts.
        if (kind == CALL_DIRECT) {
            if (links++ < LINKS && clu_is_refuted(unwinder, record)) {
                if (refuted == 0) refuted = record;
                continue;
            }
            *proved = 1;
            return record;
        }
        if (saved != 0 && saved <= record) continue;
        // Otherwise: an indirect call may have led here; a direct call of another function only if that one ended in
        // a jump to this one.
        int chain = clu_chain_length(view, record);
        int score = chain + (kind == CALL_INDIRECT ? 4 : 0);
        if (chain >= 2 && score > best_score) {
            best = record;
            best_score = score;
        }
    }
    *proved = refuted != 0;
    return refuted != 0 ? refuted : best;
}

uint64_t clu_frame_record_search(clu_unwinder *unwinder) {
    const memory_view *view = &unwinder->view;
    const uint64_t sp = unwinder->frame_sp;
    clu_function frame;
    uint64_t function = clu_find_function(unwinder, unwinder->frame_code, &frame) ? frame.start : 0;
    uint64_t expected = clu_prologue_frame_pointer(view, sp, function, unwinder->frame_code), return_address;
    clu_call_kind kind = CALL_NONE;
    if (expected != 0 && (expected & 15) == 0 && clu_memory_view_return_address(view, expected + 8, &return_address) && clu_is_executable(view, return_address)) {
        kind = clu_call_before(view, return_address, function);
        // Only if the prologue confirms it: every stack contains old signal frames.
        if (kind == CALL_NONE && clu_is_signal_return(view, return_address)) kind = CALL_DIRECT;
    }
    if (kind == CALL_DIRECT && !clu_is_refuted(unwinder, expected)) return expected;
    // Without that proof the prologue may mislead: if a frame has grown since (alloca, pushed arguments), it has old
    // records of earlier calls at that place. A proved record takes precedence.
    int proved;
    uint64_t found = clu_search_upward(unwinder, expected > sp ? expected : sp, function, &proved);
    return proved || kind == CALL_NONE ? found : expected;
}
