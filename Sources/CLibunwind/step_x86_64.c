// Steps that libunwind does not support on x86-64.
#define _GNU_SOURCE
#include "unwinder.h"

#include "code_at.h"

#if defined(__x86_64__)

// A word of the stack: beyond the snapshot, a page is read at a time.
static int clu_word(clu_unwinder *unwinder, uint64_t address, uint64_t *word) {
    return snapshot_word(unwinder->view.snapshot, address, word) || clu_cached_read(unwinder, address, word, 8);
}

// In code without unwind information, libunwind continues by the frame pointer. If that code keeps no frame record
// (Swift's overlays are full of small functions of both kinds: DispatchSemaphore.wait(timeout:)), the frame pointer
// is its caller's, and the caller would be left out. Then its return address is between the stack pointer and that
// record (which may not be known), right after a call of this very function. Returns the address of that return
// address, or 0.
static uint64_t clu_return_slot(clu_unwinder *unwinder, uint64_t pc, uint64_t sp, uint64_t record) {
    enum { SLOTS = 32 };
    int module = clu_module_find(unwinder->view.table, pc);
    for (uint64_t slot = sp; module >= 0 && slot < record && slot < sp + SLOTS * 8; slot += 8) {
        uint64_t address;
        if (!clu_word(unwinder, slot, &address)) return 0;
        uint64_t function = clu_called_function(&unwinder->view, address);
        if (function == 0 || function > pc || pc - function >= CLU_FUNCTION_BYTES) continue;
        if (clu_module_find(unwinder->view.table, function) != module) continue;
        // With unwind information it would be another function than this one.
        if (clu_find_function(unwinder, function, &(clu_function){0}) || clu_keeps_frame_record(&unwinder->view, function, pc)) continue;
        return slot;
    }
    return 0;
}

// The return address in the frame record at `fp` if it does not follow a call: a JIT compiler that discards optimized
// code puts the start of its own code there (V8: InterpreterEnterAtNextBytecode). That code belongs to a file and has
// no tables, and the record leads up the stack.
static uint64_t clu_replaced_return_address(clu_unwinder *unwinder, uint64_t sp, uint64_t fp, uint64_t *saved) {
    uint64_t address;
    if (fp < sp || fp % 8 != 0) return 0;
    if (!clu_word(unwinder, fp, saved) || !clu_word(unwinder, fp + 8, &address)) return 0;
    if (*saved <= fp || *saved % 8 != 0) return 0;
    if (clu_module_find(unwinder->view.table, address) < 0 && clu_code_kind(unwinder->view.table, address) != CLU_CODE_OF_FILE) return 0;
    return clu_is_executable(&unwinder->view, address) && !clu_find_function(unwinder, address, &(clu_function){0}) ? address : 0;
}

enum { ENDS = 16 };  // in one walk: each may read 32 KiB of code

// The same by the end of the code: what it pops from the stack before it returns. Hand-written code, or code
// generated at run time, often has neither tables nor a frame record, and is called through pointers. The found
// address is proved if a call precedes it: a call through a register, a call of code without tables, or a call of a
// function that continues in other code (for example because it selects the variant for this processor). Stores the
// caller's frame pointer in `saved`.
static uint64_t clu_return_slot_by_end(clu_unwinder *unwinder, const clu_frame_registers *registers, uint64_t *saved) {
    if (unwinder->ends++ >= ENDS) return 0;
    uint64_t frame, address, pc = unwinder->frame_code;
    uint64_t slot = clu_return_slot_of_epilogue(&unwinder->view, pc, registers->sp, &frame);
    const uint64_t stack_end = unwinder->view.snapshot->stack_high;
    if (slot == 0 || slot % 8 != 0 || (stack_end != 0 && slot >= stack_end) || !clu_word(unwinder, slot, &address)) return 0;
    *saved = registers->fp;
    if (frame != 0 && !clu_word(unwinder, frame, saved)) return 0;
    if (!clu_is_executable(&unwinder->view, address)) return 0;
    // A function that keeps its own frame record, and saves that register elsewhere, was not followed to its own end.
    uint64_t beyond;
    const int has_record = registers->fp != 0 && clu_frame_record_caller(&unwinder->view, registers->sp, registers->fp, &beyond) != 0;
    const int is_followed = !has_record || frame == 0 || frame == registers->fp;
    if (clu_call_before(&unwinder->view, address, 0) == CALL_INDIRECT) return is_followed ? slot : 0;
    uint64_t function = clu_called_function(&unwinder->view, address);
    if (function == 0 || clu_module_find(unwinder->view.table, function) != clu_module_find(unwinder->view.table, pc)) return 0;
    clu_function called;
    if (clu_find_function(unwinder, function, &called))
        return is_followed && clu_may_jump_to(&unwinder->view, called.start, called.end, pc) ? slot : 0;
    return function <= pc && pc - function < CLU_EPILOGUE_BYTES ? slot : 0;
}

// A caller at which the walk can continue: its known registers; a frame pointer of 0 is unknown.
typedef struct clu_caller { uint64_t pc, sp, fp; } clu_caller;

static int clu_take_caller(clu_unwinder *unwinder, uint64_t slot, uint64_t fp, clu_caller *caller) {
    *caller = (clu_caller){.sp = slot + 8, .fp = fp};
    return slot != 0 && clu_word(unwinder, slot, &caller->pc) && caller->pc != 0;
}

static int clu_caller_by_call(clu_unwinder *unwinder, const clu_frame_registers *registers, clu_caller *caller) {
    uint64_t fp = registers->fp, frame = 0;
    uint64_t slot = clu_return_slot(unwinder, unwinder->frame_code, registers->sp, fp != 0 ? fp : UINT64_MAX);
    // Hand-written code may have saved the register, and use it for something else.
    const int is_known = slot != 0 && unwinder->ends++ < ENDS
        && clu_return_slot_of_epilogue(&unwinder->view, unwinder->frame_code, registers->sp, &frame) == slot;
    if (is_known && frame != 0 && !clu_word(unwinder, frame, &fp)) fp = 0;
    return clu_take_caller(unwinder, slot, fp, caller);
}

// For code generated at run time: a whole chain of records, each to be checked. The caller of a function that has not
// created its record yet is skipped.
static int clu_caller_by_record(clu_unwinder *unwinder, const clu_frame_registers *registers, clu_caller *caller) {
    if (registers->fp == 0) return 0;
    *caller = (clu_caller){.sp = registers->fp + 16};
    caller->pc = clu_frame_record_caller(&unwinder->view, registers->sp, registers->fp, &caller->fp);
    if (caller->pc == 0) caller->pc = clu_replaced_return_address(unwinder, registers->sp, registers->fp, &caller->fp);
    return caller->pc != 0;
}

static int clu_caller_by_end(clu_unwinder *unwinder, const clu_frame_registers *registers, clu_caller *caller) {
    uint64_t saved = 0, slot = clu_return_slot_by_end(unwinder, registers, &saved);
    return clu_take_caller(unwinder, slot, saved, caller);
}

// Whether libunwind's step leads to a frame that calls.
static int clu_has_stepped_to_caller(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers) {
    unw_word_t pc;
    uint64_t saved;
    if (clu_libunwind()->get_reg(cursor, UNW_REG_IP, &pc) < 0) return 0;
    return clu_is_plausible_return_address(&unwinder->view, pc)
        || (registers->fp != 0 && clu_replaced_return_address(unwinder, 0, registers->fp, &saved) == pc);
}

int clu_go_on_without_tables(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers, int stepped) {
    const int is_of_module = clu_module_find(unwinder->view.table, unwinder->frame_code) >= 0;
    clu_caller caller;
    const int is_by_call = clu_caller_by_call(unwinder, registers, &caller);
    // libunwind continues by the frame pointer for 16 KiB without tables, and no further (src/x86_64/Gstep.c): deep
    // recursions of interpreters are longer.
    const int is_by_record = !is_by_call && (!is_of_module || stepped <= 0) && clu_caller_by_record(unwinder, registers, &caller);
    if (is_by_call || is_by_record || clu_caller_by_end(unwinder, registers, &caller)) {
        if (!clu_restart(unwinder, cursor, caller.pc, caller.sp, caller.fp)) return 0;
    } else if (!is_of_module || stepped <= 0 || !clu_has_stepped_to_caller(unwinder, cursor, registers)) {
        // A module's function rarely lacks tables: libunwind also recognises a jump to another module.
        return 0;
    }
    if (!is_by_call) unwinder->frame_pointer_recovered = 1;
    return 1;
}

// A restart knows the stack pointer there.
int clu_step_by_record(clu_unwinder *unwinder, unw_cursor_t *cursor, const clu_frame_registers *registers) { return 0; }

#endif
