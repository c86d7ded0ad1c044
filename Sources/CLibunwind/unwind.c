#define _GNU_SOURCE
#include "clu_unwind.h"

#include "cll_memory.h"
#include "frame_record_search.h"
#include "libunwind_calls.h"

#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, CACHED_PAGES = 64 };

// In a page's stamp: valid for the epoch, not for the walk.
static const uint32_t CONSTANT = 1u << 31;

// Pages of code, tables and stack outside the snapshot: one system call a page instead of one a word. A page of code or
// of unwind tables does not change while its module is there, so its copy holds until the modules change; any other
// copy holds for one walk.
typedef struct page_cache {
    uint64_t page[CACHED_PAGES];
    uint32_t stamp[CACHED_PAGES];  // the walk, or CONSTANT with the epoch
    uint8_t bytes[CACHED_PAGES][PAGE];
} page_cache;

struct clu_unwinder {
    unw_addr_space_t space;
    unw_accessors_t accessors;
    memory_view view;
    uint32_t walk, epoch;           // counted by walks and by changes of the modules, below CONSTANT
    int reading_tables;             // a look-up is under way
    uint64_t frame_sp, frame_code;  // the frame being stepped: where a missing frame pointer is searched
    uint64_t frame_pointer;
    int frame_pointer_recovered;
    int lookup_failed;  // the frame being stepped has no unwind information
    int only_known;     // a frame pointer that is not known is not searched for
    int restarted;      // the walk goes on from these, the only registers that are known then
    uint64_t restart_pc, restart_sp, restart_fp;
    page_cache cache;
};

static int clu_is_constant(const clu_unwinder *unwinder, uint64_t page) {
    if (unwinder->reading_tables) return 1;
    int index = clu_module_find(unwinder->view.table, page);
    if (index < 0) return 0;
    const clu_module *module = &unwinder->view.table->modules[index];
    return page >= (module->text_start & ~(uint64_t)(PAGE - 1)) && page < module->text_end;
}

static int clu_cached_read(clu_unwinder *unwinder, uint64_t address, void *buffer, size_t size) {
    uint8_t *out = buffer;
    while (size > 0) {
        uint64_t page = address & ~(uint64_t)(PAGE - 1);
        size_t slot = (page / PAGE) % CACHED_PAGES, offset = address - page;
        size_t step = PAGE - offset < size ? PAGE - offset : size;
        uint32_t stamp = unwinder->cache.stamp[slot], constant = CONSTANT | unwinder->epoch;
        if (unwinder->cache.page[slot] != page || (stamp != unwinder->walk && stamp != constant)) {
            unwinder->cache.stamp[slot] = 0;
            if (cll_memory_read(unwinder->view.pid, page, unwinder->cache.bytes[slot], PAGE) != PAGE) return 0;
            unwinder->cache.page[slot] = page;
            unwinder->cache.stamp[slot] = clu_is_constant(unwinder, page) ? constant : unwinder->walk;
        }
        memcpy(out, unwinder->cache.bytes[slot] + offset, step);
        out += step;
        address += step;
        size -= step;
    }
    return 1;
}

static int clu_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *argument) {
    clu_unwinder *unwinder = argument;
    if (write) return -UNW_EINVAL;
    if (snapshot_word(unwinder->view.snapshot, address, value)) return 0;
    return clu_cached_read(unwinder, address, value, 8) ? 0 : -UNW_EINVAL;
}

static int clu_look_up(clu_unwinder *unwinder, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info);

static int clu_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write, void *argument) {
    clu_unwinder *unwinder = argument;
    if (write) return -UNW_EREADONLYREG;
    if (number < 0 || number >= CLL_REGISTERS) return -UNW_EBADREG;
    if (unwinder->restarted) {
        if (number != CLL_REGISTER_PC && number != CLL_REGISTER_SP && number != CLL_REGISTER_FP) return -UNW_EBADREG;
        *value = number == CLL_REGISTER_PC ? unwinder->restart_pc : number == CLL_REGISTER_SP ? unwinder->restart_sp : unwinder->restart_fp;
        return 0;
    }
    if (unwinder->view.snapshot->known >> number & 1) {
        *value = unwinder->view.snapshot->registers[number];
        return 0;
    }
    // Without unwind information for the function nothing proves a frame record to be its own.
    if (number != CLL_REGISTER_FP || unwinder->lookup_failed || unwinder->only_known) return -UNW_EBADREG;
    if (unwinder->frame_pointer == 0) {
        // Only a missing frame pointer needs to know the function, and only where it is asked for.
        unw_proc_info_t info;
        memset(&info, 0, sizeof(info));
        uint64_t function = clu_look_up(unwinder, unwinder->frame_code, &info, 0) == 0 ? info.start_ip : 0;
        unwinder->frame_pointer = clu_frame_record_search(&unwinder->view, unwinder->frame_sp, function);
        if (unwinder->frame_pointer == 0) return -UNW_EBADREG;
        unwinder->frame_pointer_recovered = 1;
    }
    *value = unwinder->frame_pointer;
    return 0;
}

// The unwind table of the module that holds `ip`: .eh_frame_hdr as the linkers write it (LSB Core, 10.6.2), that is
// version 1, a pc-relative pointer, a 32-bit count, and a sorted table of 32-bit pairs relative to the header.
static int clu_search_tables(clu_unwinder *unwinder, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info) {
    int index = clu_module_find(unwinder->view.table, ip);
    if (index < 0) return -UNW_ENOINFO;
    const clu_module *module = &unwinder->view.table->modules[index];
    uint8_t header[12];
    if (module->eh_frame_hdr == 0 || !clu_cached_read(unwinder, module->eh_frame_hdr, header, sizeof(header))) return -UNW_ENOINFO;
    if (header[0] != 1 || header[2] != 0x03 || header[3] != 0x3b) return -UNW_ENOINFO;
    uint32_t entries;
    memcpy(&entries, header + 8, 4);
    unw_dyn_info_t table;
    memset(&table, 0, sizeof(table));
    table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
    table.start_ip = module->start;
    table.end_ip = module->end;
    table.u.rti.segbase = module->eh_frame_hdr;
    table.u.rti.table_data = module->eh_frame_hdr + 12;
    table.u.rti.table_len = (unw_word_t)entries * 8 / sizeof(unw_word_t);
    return clu_libunwind()->search_unwind_table(unwinder->space, ip, &table, info, need_unwind_info, unwinder);
}

static int clu_look_up(clu_unwinder *unwinder, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info) {
    unwinder->reading_tables = 1;
    int result = clu_search_tables(unwinder, ip, info, need_unwind_info);
    unwinder->reading_tables = 0;
    return result;
}

static int clu_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info, void *argument) {
    clu_unwinder *unwinder = argument;
    int result = clu_look_up(unwinder, ip, info, need_unwind_info);
    if (result < 0) unwinder->lookup_failed = 1;
    return result;
}

// libunwind returns what it made of a table entry to its own pool by itself; this call is for callers' memory.
static void clu_put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument) {}

static int clu_get_dyn_info_list_addr(unw_addr_space_t space, unw_word_t *address, void *argument) { return -UNW_ENOINFO; }

static int clu_access_fpreg(unw_addr_space_t space, unw_regnum_t number, unw_fpreg_t *value, int write, void *argument) {
    return -UNW_EBADREG;
}

static int clu_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument) { return -UNW_EINVAL; }

static int clu_get_proc_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size, unw_word_t *offset, void *argument) {
    return -UNW_ENOINFO;
}

clu_unwinder *clu_unwinder_create(void) {
    const libunwind_calls *calls = clu_libunwind();
    if (calls == NULL) return NULL;
    clu_unwinder *unwinder = cll_memory_map(sizeof(*unwinder));
    if (unwinder == NULL) return NULL;
    unwinder->accessors = (unw_accessors_t){
        .find_proc_info = clu_find_proc_info,
        .put_unwind_info = clu_put_unwind_info,
        .get_dyn_info_list_addr = clu_get_dyn_info_list_addr,
        .access_mem = clu_access_mem,
        .access_reg = clu_access_reg,
        .access_fpreg = clu_access_fpreg,
        .resume = clu_resume,
        .get_proc_name = clu_get_proc_name,
    };
    unwinder->space = calls->create_addr_space(&unwinder->accessors, 0);
    if (unwinder->space == NULL) {
        cll_memory_unmap(unwinder, sizeof(*unwinder));
        return NULL;
    }
    calls->set_caching_policy(unwinder->space, UNW_CACHE_GLOBAL);
    return unwinder;
}

void clu_unwinder_destroy(clu_unwinder *unwinder) {
    if (unwinder == NULL) return;
    clu_libunwind()->destroy_addr_space(unwinder->space);
    cll_memory_unmap(unwinder, sizeof(*unwinder));
}

void clu_unwinder_forget(clu_unwinder *unwinder) {
    unwinder->epoch = (unwinder->epoch + 1) & ~CONSTANT;
    clu_libunwind()->flush_cache(unwinder->space, 0, 0);
}

static void clu_store(clu_unwinder *unwinder, clu_frame *frames, uint32_t capacity, clu_unwind_result *result, uint64_t pc,
                  int is_return_address, int is_signal_frame) {
    int module = clu_module_find(unwinder->view.table, pc - (is_return_address ? 1 : 0));
    if (module < 0 && !clu_is_in_code_range(unwinder->view.table, pc)) result->unknown_modules++;
    if (result->total < capacity) {
        clu_frame *frame = &frames[result->total];
        frame->pc = pc;
        frame->module = (int16_t)module;
        frame->flags = (uint16_t)((is_return_address ? CLU_FRAME_RETURN_ADDRESS : 0) | (is_signal_frame ? CLU_FRAME_SIGNAL : 0));
        result->stored++;
    }
    result->total++;
}

// Whether `pc` is the code to which a signal handler returns (and which libgcc and gdb know by its bytes, too):
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

// In code without unwind information libunwind goes on by the frame pointer. Where that code keeps no frame record (Swift's overlays are
// full of small functions of both kinds: DispatchSemaphore.wait(timeout:)), the frame pointer is its caller's, and the caller would be
// left out. Its return address is then between the stack pointer and that record, right after a call of this very function.
// The place of that return address; 0: there is none.
static uint64_t clu_return_slot(clu_unwinder *unwinder, uint64_t pc, uint64_t sp, uint64_t record) {
    enum { SLOTS = 32 };
    int module = clu_module_find(unwinder->view.table, pc);
    for (uint64_t slot = sp; module >= 0 && slot < record && slot < sp + SLOTS * 8; slot += 8) {
        uint64_t address;
        if (!clu_memory_view_word(&unwinder->view, slot, &address)) return 0;
        uint64_t function = clu_called_function(&unwinder->view, address);
        if (function == 0 || function > pc || pc - function >= CLU_FUNCTION_BYTES) continue;
        if (clu_module_find(unwinder->view.table, function) != module) continue;
        unw_proc_info_t info;
        memset(&info, 0, sizeof(info));
        // With unwind information it would be another function than this one.
        if (clu_look_up(unwinder, function, &info, 0) == 0 || clu_keeps_frame_record(&unwinder->view, function, pc)) continue;
        return slot;
    }
    return 0;
}

// Lets the walk go on from a caller of whom only these registers are known.
static int clu_restart(clu_unwinder *unwinder, unw_cursor_t *cursor, uint64_t pc, uint64_t sp, uint64_t fp) {
    unwinder->restarted = 1;
    unwinder->restart_pc = pc;
    unwinder->restart_sp = sp;
    unwinder->restart_fp = fp;
    return clu_libunwind()->init_remote(cursor, unwinder->space, unwinder) == 0;
}

// Finds the caller of code without unwind information, whose stack and frame pointers are these; libunwind has made a step by the frame
// pointer (`stepped`) or none. Nothing but a caller that really calls is believed.
static int clu_go_on_without_tables(clu_unwinder *unwinder, unw_cursor_t *cursor, uint64_t sp, uint64_t fp, int stepped) {
    uint64_t caller = 0, saved = 0;
    uint64_t slot = fp != 0 ? clu_return_slot(unwinder, unwinder->frame_code, sp, fp) : 0;
    if (slot != 0 && clu_memory_view_word(&unwinder->view, slot, &caller)) {
        return clu_restart(unwinder, cursor, caller, slot + 8, fp);
    }
    if (clu_module_find(unwinder->view.table, unwinder->frame_code) >= 0) {
        // Only now and then a function of a module has no tables: libunwind also knows what a jump to another module looks like.
        if (stepped <= 0 || clu_libunwind()->get_reg(cursor, UNW_REG_IP, &caller) < 0) return 0;
        if (!clu_is_plausible_return_address(&unwinder->view, caller)) return 0;
    } else {
        // Made at run time: a whole chain of records, each to be checked. The caller of a function that has not made its record
        // yet is passed over.
        caller = fp != 0 ? clu_frame_record_caller(&unwinder->view, sp, fp, &saved) : 0;
        if (caller == 0 || !clu_restart(unwinder, cursor, caller, fp + 16, saved)) return 0;
    }
    unwinder->frame_pointer_recovered = 1;
    return 1;
}

void clu_unwinder_walk(clu_unwinder *unwinder, const cll_snapshot *snapshot, const clu_module_table *table, pid_t pid,
                       clu_frame *frames, uint32_t capacity, uint32_t limit, clu_unwind_result *result) {
    const libunwind_calls *calls = clu_libunwind();
    memset(result, 0, sizeof(*result));
    unwinder->view = (memory_view){.snapshot = snapshot, .table = table, .pid = pid};
    unwinder->walk = (unwinder->walk + 1) & ~CONSTANT;
    unwinder->frame_pointer = 0;
    unwinder->frame_pointer_recovered = 0;
    unwinder->restarted = 0;
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
        // A frame that repeats itself without moving up the stack would never end.
        if (result->total > 0 && pc == previous_pc && sp == previous_sp) break;
        int is_signal_frame = clu_is_signal_trampoline(unwinder, pc);
        if (is_signal_frame) is_return_address = 0;
        clu_store(unwinder, frames, capacity, result, pc, is_return_address, is_signal_frame);
        if (result->total >= limit) {
            result->end = CLU_UNWIND_LIMIT;
            break;
        }
        unwinder->frame_sp = sp;
        unwinder->frame_code = pc - (is_return_address ? 1 : 0);
        previous_pc = pc;
        previous_sp = sp;
        unwinder->lookup_failed = 0;
        unw_word_t fp = 0;
        unwinder->only_known = 1;
        if (calls->get_reg(&cursor, CLL_REGISTER_FP, &fp) < 0) fp = 0;
        unwinder->only_known = 0;
        int stepped = calls->step(&cursor);
        if (unwinder->lookup_failed && !is_signal_frame) {
            if (!clu_go_on_without_tables(unwinder, &cursor, sp, fp, stepped)) {
                result->end = CLU_UNWIND_NO_INFO;
                break;
            }
        } else if (stepped <= 0) {
            result->end = unwinder->lookup_failed ? CLU_UNWIND_NO_INFO : stepped == 0 ? CLU_UNWIND_COMPLETE : CLU_UNWIND_BAD_FRAME;
            break;
        }
        is_return_address = !is_signal_frame;
    }
    result->frame_pointer_recovered = unwinder->frame_pointer_recovered;
}

uint64_t clu_unwinder_function(clu_unwinder *unwinder, const clu_module_table *table, uint64_t address) {
    // The walk's own table was its caller's.
    unwinder->view.table = table;
    unw_proc_info_t info;
    memset(&info, 0, sizeof(info));
    uint64_t start = clu_look_up(unwinder, address, &info, 0) == 0 ? info.start_ip : 0;
    unwinder->view.table = NULL;
    return start;
}
