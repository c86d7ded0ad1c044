// The unwinder's lifetime, and its accessors for libunwind: memory, registers and tables.
#define _GNU_SOURCE
#include "unwinder.h"

#include "cll_memory.h"

#include <string.h>

static int clu_is_constant(const clu_unwinder *unwinder, uint64_t page) {
    if (unwinder->reading_tables) return 1;
    int index = clu_module_find(unwinder->view.table, page);
    if (index < 0) return 0;
    const clu_module *module = &unwinder->view.table->modules[index];
    return page >= (module->text_start & ~(uint64_t)(PAGE - 1)) && page < module->text_end;
}

int clu_cached_read(clu_unwinder *unwinder, uint64_t address, void *buffer, size_t size) {
    uint8_t *out = buffer;
    while (size > 0) {
        uint64_t page = address & ~(uint64_t)(PAGE - 1);
        size_t slot = (page / PAGE) % CACHED_PAGES, offset = address - page;
        size_t step = PAGE - offset < size ? PAGE - offset : size;
        uint32_t stamp = unwinder->cache.stamp[slot], constant = CONSTANT | unwinder->epoch;
        if (unwinder->cache.page[slot] != page || (stamp != unwinder->walk && stamp != constant)) {
            unwinder->cache.stamp[slot] = 0;
            // A register that is not a frame pointer may contain any address.
            const int is_constant = clu_is_constant(unwinder, page);
            size_t (*const read)(pid_t, uint64_t, void *, size_t) = is_constant ? cll_memory_read : cll_memory_read_present;
            if (read(unwinder->view.pid, page, unwinder->cache.bytes[slot], PAGE) != PAGE) return 0;
            unwinder->cache.page[slot] = page;
            unwinder->cache.stamp[slot] = is_constant ? constant : unwinder->walk;
        }
        memcpy(out, unwinder->cache.bytes[slot] + offset, step);
        out += step;
        address += step;
        size -= step;
    }
    return 1;
}

// A word of memory as libunwind sees it: a return address without its authentication code (return_address.h).
static unw_word_t clu_shown(const clu_unwinder *unwinder, unw_word_t value) {
    uint64_t plain = clu_return_address_without_code(value);
    // Other words may have tags in their upper bits, and keep them.
    return plain != value && clu_is_executable(&unwinder->view, plain) ? plain : value;
}

static int clu_access_mem(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write, void *argument) {
    clu_unwinder *unwinder = argument;
    if (write || unwinder->reads >= MAXIMUM_READS) return -UNW_EINVAL;
    unwinder->reads++;
    const size_t copied = clu_entries_copy(&unwinder->entries, address, value);
    if (copied == sizeof(*value)) return 0;
    if (!snapshot_word(unwinder->view.snapshot, address, value) && !clu_cached_read(unwinder, address, value, 8)) return -UNW_EINVAL;
    *value = clu_shown(unwinder, *value);
    if (copied > 0) clu_entries_copy(&unwinder->entries, address, value);
    return 0;
}

static int clu_access_reg(unw_addr_space_t space, unw_regnum_t number, unw_word_t *value, int write, void *argument) {
    clu_unwinder *unwinder = argument;
    if (write) return -UNW_EREADONLYREG;
    if (number < 0 || number >= CLL_REGISTERS) return -UNW_EBADREG;
    if (unwinder->restarted) {
        if (number != CLL_REGISTER_PC && number != CLL_REGISTER_SP && number != CLL_REGISTER_FP) return -UNW_EBADREG;
        *value = number == CLL_REGISTER_PC ? unwinder->restart_pc : number == CLL_REGISTER_SP ? unwinder->restart_sp : unwinder->restart_fp;
        if (*value != 0) return 0;
    } else if (unwinder->view.snapshot->known >> number & 1) {
        *value = unwinder->view.snapshot->registers[number];
#if defined(__aarch64__)
        if (number == CLL_REGISTER_LR) *value = clu_return_address_without_code(*value);
#endif
        return 0;
    }
#if defined(__aarch64__)
    // It is requested if the tables show that the function has not saved it.
    if (number == CLL_REGISTER_LR && !unwinder->lookup_failed && !unwinder->only_known) {
        *value = clu_link_register_search(unwinder);
        return *value != 0 ? 0 : -UNW_EBADREG;
    }
#endif
    // Without unwind information for the function, nothing proves that a frame record is its own.
    if (number != CLL_REGISTER_FP || unwinder->lookup_failed || unwinder->only_known) return -UNW_EBADREG;
    if (unwinder->frame_pointer == 0) {
        // Only a missing frame pointer requires knowing the function, and only when it is requested.
        unwinder->frame_pointer = clu_frame_record_search(unwinder);
        if (unwinder->frame_pointer == 0) return -UNW_EBADREG;
        unwinder->frame_pointer_recovered = 1;
    }
    *value = unwinder->frame_pointer;
    return 0;
}

// The same in a table that was created because the linker created none: its numbers are relative to the module's
// start.
static int clu_find_made_entry(const clu_module *module, uint64_t ip, int32_t pair[2]) {
    uint32_t low = 0, high = module->made_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (module->made_table[middle].function <= (int64_t)(ip - module->start)) low = middle + 1; else high = middle;
    }
    if (low == 0) return 0;
    pair[0] = module->made_table[low - 1].function;
    pair[1] = module->made_table[low - 1].entry;
    return 1;
}

int clu_find_entry(clu_unwinder *unwinder, uint64_t ip, uint64_t *header, int32_t pair[2]) {
    int index = clu_module_find(unwinder->view.table, ip);
    if (index < 0) return 0;
    const clu_module *module = &unwinder->view.table->modules[index];
    if (module->eh_frame_hdr == 0) {
        *header = module->start;
        return clu_find_made_entry(module, ip, pair);
    }
    uint8_t begin[12];
    *header = unwinder->view.table->modules[index].eh_frame_hdr;
    if (*header == 0 || !clu_cached_read(unwinder, *header, begin, sizeof(begin))) return 0;
    if (begin[0] != 1 || begin[2] != 0x03 || begin[3] != 0x3b) return 0;
    uint32_t low = 0, high;
    memcpy(&high, begin + 8, 4);
    const uint64_t table = *header + sizeof(begin);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!clu_cached_read(unwinder, table + (uint64_t)middle * 8, pair, 8)) return 0;
        if ((int64_t)pair[0] <= (int64_t)(ip - *header)) low = middle + 1; else high = middle;
    }
    return low != 0 && clu_cached_read(unwinder, table + (uint64_t)(low - 1) * 8, pair, 8);
}

static int clu_find_proc_info(unw_addr_space_t space, unw_word_t ip, unw_proc_info_t *info, int need_unwind_info, void *argument) {
    clu_unwinder *unwinder = argument;
    int result = -UNW_ENOINFO, index = clu_module_find(unwinder->view.table, ip);
    uint64_t header;
    if (index >= 0 && clu_entry_take(unwinder, ip, &header)) {
        const clu_module *module = &unwinder->view.table->modules[index];
        unw_dyn_info_t table;
        memset(&table, 0, sizeof(table));
        table.format = UNW_INFO_FORMAT_REMOTE_TABLE;
        table.start_ip = module->start;
        table.end_ip = module->end;
        table.u.rti.segbase = header;
        table.u.rti.table_data = CLU_ENTRY_TABLE;
        table.u.rti.table_len = 1;  // in words
        result = clu_libunwind()->search_unwind_table(space, ip, &table, info, need_unwind_info, unwinder);
    }
    if (result < 0) unwinder->lookup_failed = 1;
    return result;
}

// libunwind itself returns its data for a table entry to its own pool; this call is for callers' memory.
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
    clu_entries_forget(unwinder);
}

uint64_t clu_unwinder_function(clu_unwinder *unwinder, const clu_module_table *table, uint64_t address) {
    // The walk's own table belonged to its caller.
    unwinder->view.table = table;
    clu_function function;
    int is_found = clu_find_function(unwinder, address, &function);
    unwinder->view.table = NULL;
    return is_found ? function.start : 0;
}
