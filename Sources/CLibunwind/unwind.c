// The walk from frame to frame.
#define _GNU_SOURCE
#include "unwinder.h"

#include <string.h>

// The slot for the next frame; -1: none. If a stack is longer than the buffer, the innermost frames are kept, and of
// the others the outermost: the latest ones replace each other in turn. The caller is between a library's recursion
// and the loop.
static int64_t clu_next_slot(uint32_t capacity, const clu_unwind_result *result) {
    if (result->total < capacity) return result->total;
    if (capacity < 2 * CLU_OUTER_FRAMES) return -1;
    return capacity - CLU_OUTER_FRAMES + (result->total - capacity) % CLU_OUTER_FRAMES;
}

// Returns the slot, -1 if there was none.
static int64_t clu_store(clu_unwinder *unwinder, clu_frame *frames, uint32_t capacity, clu_unwind_result *result, uint64_t pc,
                     uint64_t sp, int is_return_address, int is_signal_frame) {
    int module = clu_module_find(unwinder->view.table, pc - (is_return_address ? 1 : 0));
    if (module < 0 && clu_code_kind(unwinder->view.table, pc) == CLU_CODE_NONE) result->unknown_modules++;
    int64_t slot = clu_next_slot(capacity, result);
    if (slot >= 0) {
        clu_frame *frame = &frames[slot];
        frame->pc = pc;
        frame->module = (int16_t)module;
        frame->flags = (uint16_t)((is_return_address ? CLU_FRAME_RETURN_ADDRESS : 0) | (is_signal_frame ? CLU_FRAME_SIGNAL : 0));
        frame->function_distance = 0;
        frame->language = 0;
        if (unwinder->stack_pointers != NULL) unwinder->stack_pointers[slot] = sp;
        if (unwinder->frame_pointers != NULL) unwinder->frame_pointers[slot] = 0;
        if (result->stored < capacity) result->stored++;
    }
    result->total++;
    return slot;
}

static void clu_reverse(clu_unwinder *unwinder, clu_frame *frames, uint32_t from, uint32_t to) {
    for (; from + 1 < to; from++, to--) {
        clu_frame frame = frames[from];
        frames[from] = frames[to - 1];
        frames[to - 1] = frame;
        uint64_t *both[] = {unwinder->stack_pointers, unwinder->frame_pointers};
        for (size_t index = 0; index < 2; index++) {
            if (both[index] == NULL) continue;
            uint64_t value = both[index][from];
            both[index][from] = both[index][to - 1];
            both[index][to - 1] = value;
        }
    }
}

// Puts the outermost frames in order: the oldest of them is the one that would have been replaced next.
static void clu_order_outer(clu_unwinder *unwinder, clu_frame *frames, uint32_t capacity, const clu_unwind_result *result) {
    if (result->total <= capacity || capacity < 2 * CLU_OUTER_FRAMES) return;
    uint32_t first = capacity - CLU_OUTER_FRAMES, oldest = (uint32_t)clu_next_slot(capacity, result);
    clu_reverse(unwinder, frames, first, oldest);
    clu_reverse(unwinder, frames, oldest, capacity);
    clu_reverse(unwinder, frames, first, capacity);
}

// Whether `pc` is the code to which a signal handler returns (which libgcc and gdb also recognise by its bytes):
// rt_sigreturn's number and the call. libunwind's own mark is on the frame above it.
static int clu_is_signal_trampoline(clu_unwinder *unwinder, uint64_t pc) {
#if defined(__x86_64__)
    static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0x00, 0x00, 0x00, 0x0f, 0x05};
#else
    static const uint8_t code[] = {0x68, 0x11, 0x80, 0xd2, 0x01, 0x00, 0x00, 0xd4};
#endif
    uint8_t bytes[sizeof(code)];
    return clu_cached_read(unwinder, pc, bytes, sizeof(bytes)) && memcmp(bytes, code, sizeof(code)) == 0;
}

int clu_restart(clu_unwinder *unwinder, unw_cursor_t *cursor, uint64_t pc, uint64_t sp, uint64_t fp) {
    unwinder->restarted = 1;
    unwinder->restart_pc = pc;
    unwinder->restart_sp = sp;
    unwinder->restart_fp = fp;
    unwinder->frame_pointer = 0;
    return clu_libunwind()->init_remote(cursor, unwinder->space, unwinder) == 0;
}

static uint64_t clu_known_link_register(const cll_snapshot *snapshot) {
#if defined(__aarch64__)
    if (snapshot->known >> CLL_REGISTER_LR & 1) return clu_return_address_without_code(snapshot->registers[CLL_REGISTER_LR]);
#endif
    return 0;
}

void clu_unwinder_store_pointers(clu_unwinder *unwinder, uint64_t *stack_pointers, uint64_t *frame_pointers) {
    unwinder->stack_pointers = stack_pointers;
    unwinder->frame_pointers = frame_pointers;
}

void clu_unwinder_walk(clu_unwinder *unwinder, const cll_snapshot *snapshot, const clu_module_table *table, pid_t pid,
                       clu_frame *frames, uint32_t capacity, uint32_t limit, clu_unwind_result *result) {
    const libunwind_calls *calls = clu_libunwind();
    memset(result, 0, sizeof(*result));
    unwinder->view = (memory_view){.snapshot = snapshot, .table = table, .pid = pid, .reads_left = &unwinder->own_reads_left};
    unwinder->walk = (unwinder->walk + 1) & ~CONSTANT;
    unwinder->reads = 0;
    unwinder->own_reads_left = MAXIMUM_OWN_READS;
    unwinder->ends = 0;
    unwinder->frame_pointer = 0;
    unwinder->frame_pointer_recovered = 0;
    unwinder->restarted = 0;
    unwinder->sp_is_bound = 0;
    unwinder->only_known = 0;
    unwinder->frame_sp = snapshot->registers[CLL_REGISTER_SP];
    unwinder->frame_code = snapshot->registers[CLL_REGISTER_PC];

    unw_cursor_t cursor;
    result->end = CLU_UNWIND_BAD_FRAME;
    if (calls->init_remote(&cursor, unwinder->space, unwinder) < 0) return;
    int is_return_address = 0;
    uint64_t previous_pc = 0, previous_sp = 0;
    for (;;) {
        unw_word_t pc = 0, sp = 0;
        if (calls->get_reg(&cursor, UNW_REG_IP, &pc) < 0 || calls->get_reg(&cursor, UNW_REG_SP, &sp) < 0) break;
        if (pc == 0) {
            result->end = CLU_UNWIND_COMPLETE;
            break;
        }
        // A frame that repeats itself without moving up the stack would cause an endless loop.
        if (result->total > 0 && pc == previous_pc && sp == previous_sp) break;
        int is_signal_frame = clu_is_signal_trampoline(unwinder, pc);
        if (is_signal_frame) is_return_address = 0;
        int64_t slot = clu_store(unwinder, frames, capacity, result, pc, sp, is_return_address, is_signal_frame);
        if (result->total >= limit) {
            result->end = CLU_UNWIND_LIMIT;
            break;
        }
        unwinder->frame_sp = sp;
        unwinder->frame_code = pc - (is_return_address ? 1 : 0);
        previous_pc = pc;
        previous_sp = sp;
        unwinder->lookup_failed = 0;
        clu_frame_registers registers = {.sp = sp};
        unwinder->only_known = 1;
        if (calls->get_reg(&cursor, CLL_REGISTER_FP, &registers.fp) < 0) registers.fp = 0;
        unwinder->only_known = 0;
        if (slot >= 0 && unwinder->frame_pointers != NULL) unwinder->frame_pointers[slot] = registers.fp;
        // In a frame that has called something, it is the return address of that call. (libunwind returns PC for it:
        // UNW_REG_IP has its number.)
        if (result->total == 1) registers.lr = clu_known_link_register(snapshot);
        if (unwinder->sp_is_bound && clu_step_by_record(unwinder, &cursor, &registers)) {
            is_return_address = 1;
            continue;
        }
        int stepped = calls->step(&cursor);
        if (unwinder->lookup_failed && slot >= 0) frames[slot].flags |= CLU_FRAME_WITHOUT_TABLES;
        if (unwinder->lookup_failed && !is_signal_frame) {
            if (!clu_go_on_without_tables(unwinder, &cursor, &registers, stepped)) {
                result->end = CLU_UNWIND_NO_INFO;
                break;
            }
        } else if (stepped <= 0) {
            result->end = unwinder->lookup_failed ? CLU_UNWIND_NO_INFO : stepped == 0 ? CLU_UNWIND_COMPLETE : CLU_UNWIND_BAD_FRAME;
            break;
        }
        is_return_address = !is_signal_frame;
    }
    clu_order_outer(unwinder, frames, capacity, result);
    result->frame_pointer_recovered = unwinder->frame_pointer_recovered;
}
