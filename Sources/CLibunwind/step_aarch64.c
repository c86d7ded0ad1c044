// Steps that libunwind does not support on AArch64. In code without tables it assumes that the link register contains
// the return address, which is true only in a function that has called nothing. And when it needs that register, the
// kernel may not have reported it (/proc/…/syscall).
#define _GNU_SOURCE
#include "unwinder.h"

#if defined(__aarch64__)

#include "code_at.h"

#include <string.h>

enum {
    SEARCH_BYTES = 64 * 1024,     // of the stack above a frame, for its caller's record
    SEARCHED_CODE = 64 * 1024,    // of a function, for a call
    SEARCHED_FUNCTIONS = 32,      // each may take 1 ms
};

// The function that contains `pc`, if this return address belongs to a call of it; 0: it belongs to another call.
static uint64_t clu_function_called_from(const memory_view *view, uint64_t return_address, uint64_t pc) {
    uint64_t function = clu_called_function(view, return_address);
    return function != 0 && function <= pc && pc - function < CLU_FUNCTION_BYTES ? function : 0;
}

// Continues by the frame record of the present frame, which is in `function` (0: not known).
static int clu_follow_record(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers, uint64_t function, uint64_t caller,
                             uint64_t saved) {
    clu_frame_layout layout;
    // Only the code shows where the record is in its frame.
    int is_known = clu_frame_layout_of(&unwinder->view, function, unwinder->frame_code, &layout) && layout.sets_frame_pointer;
    if (!clu_restart(unwinder, cursor, caller, registers->fp + (is_known ? layout.record_below : 16), saved)) return 0;
    unwinder->sp_is_bound = !is_known;
    return 1;
}

int clu_go_on_without_tables(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers, int stepped) {
    const memory_view *view = &unwinder->view;
    const uint64_t pc = unwinder->frame_code;
    clu_frame_layout layout;
    clu_function tabled;
    if (registers->lr != 0 && clu_is_plausible_return_address(view, registers->lr)) {
        uint64_t function = clu_function_called_from(view, registers->lr, pc);
        if (function != 0 && clu_frame_layout_of(view, function, pc, &layout) && !layout.saves_return) {
            return clu_restart(unwinder, cursor, registers->lr, registers->sp + layout.below_cfa, registers->fp);
        }
        // A return address in code with tables is not within the present function: that has called nothing so far.
        if (function == 0 && clu_find_function(unwinder, registers->lr - 4, &tabled)) {
            if (!clu_restart(unwinder, cursor, registers->lr, registers->sp, registers->fp)) return 0;
            unwinder->sp_is_bound = 1;
            return 1;
        }
    }
    uint64_t saved = 0, caller = registers->fp != 0 ? clu_frame_record_caller(view, registers->sp, registers->fp, &saved) : 0;
    if (caller == 0) return 0;
    unwinder->frame_pointer_recovered = 1;
    return clu_follow_record(unwinder, cursor, registers, clu_function_called_from(view, caller, pc), caller, saved);
}

int clu_step_by_record(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers) {
    clu_function tabled;
    // Without tables, the step that follows has the same result.
    if (registers->fp == 0 || !clu_find_function(unwinder, unwinder->frame_code, &tabled)) return 0;
    clu_frame_layout layout;
    if (!clu_frame_layout_of(&unwinder->view, tabled.start, unwinder->frame_code, &layout) || !layout.sets_frame_pointer) return 0;
    uint64_t saved = 0, caller = clu_frame_record_caller(&unwinder->view, registers->sp, registers->fp, &saved);
    return caller != 0 && clu_follow_record(unwinder, cursor, registers, tabled.start, caller, saved);
}

// The return address of the first call of `called` in a function; 0: none.
static uint64_t clu_find_call(clu_unwinder *unwinder, uint64_t function, uint64_t called) {
    clu_function tabled;
    if (!clu_find_function(unwinder, function, &tabled)) return 0;
    uint64_t end = tabled.end - function < SEARCHED_CODE ? tabled.end : function + SEARCHED_CODE;
    // Most calls in a function lead to few other functions.
    uint64_t last_target = 0;
    for (uint64_t at = function; at + 4 <= end; at += 4) {
        uint32_t instruction;
        if (!clu_cached_read(unwinder, at, &instruction, sizeof(instruction))) return 0;
        uint64_t target = clu_direct_call(instruction, at);
        if (target == 0 || target == last_target) continue;
        last_target = target;
        if (target == called || clu_destination(&unwinder->view, target) == called) return at + 4;
    }
    return 0;
}

// Nothing on the stack contains it. But the caller has a frame record: the call before that record's return address
// identifies the caller, and the caller's code contains the call. If the code has several such calls, the first one
// is used.
uint64_t clu_link_register_search(clu_unwinder *unwinder) {
    const memory_view *view = &unwinder->view;
    clu_function tabled;
    clu_frame_layout layout;
    if (!clu_find_function(unwinder, unwinder->frame_code, &tabled)) return 0;
    uint64_t leaf = tabled.start;
    if (!clu_frame_layout_of(view, leaf, unwinder->frame_code, &layout)) memset(&layout, 0, sizeof(layout));
    uint64_t sp = unwinder->frame_sp + layout.below_cfa, high = sp + SEARCH_BYTES;
    if (view->snapshot->stack_high != 0 && high > view->snapshot->stack_high) high = view->snapshot->stack_high;
    int searched = 0;
    for (uint64_t record = (sp + 15) & ~15ull; record + 16 <= high && searched < SEARCHED_FUNCTIONS; record += 16) {
        uint64_t saved, address;
        if (!clu_memory_view_word(view, record, &saved) || !clu_memory_view_return_address(view, record + 8, &address)) return 0;
        if (saved != 0 && saved <= record) continue;
        uint64_t caller = clu_called_function(view, address);
        if (caller == 0) continue;
        // Every stack contains old records: a record at another place of the frame than the code puts it is not the
        // caller's.
        if (clu_frame_layout_of(view, caller, 0, &layout) && layout.sets_frame_pointer && sp + layout.below_cfa - layout.record_below != record) continue;
        searched++;
        uint64_t call = clu_find_call(unwinder, caller, leaf);
        if (call == 0) continue;
        unwinder->frame_pointer = record;
        unwinder->frame_pointer_recovered = 1;
        return call;
    }
    return 0;
}

#endif
