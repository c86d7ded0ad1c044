// What an unwinder works on: modules by address, and the registers that the kernel tells of a sleeping thread.
#include "clu_unwind.h"

int clu_module_find(const clu_module_table *table, uint64_t address) {
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (table->modules[table->active[middle]].start <= address) low = middle + 1; else high = middle;
    }
    if (low == 0) return -1;
    int index = table->active[low - 1];
    return address < table->modules[index].end ? index : -1;
}

int clu_is_in_code_range(const clu_module_table *table, uint64_t address) {
    uint32_t low = 0, high = table->range_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (table->ranges[middle].start <= address) low = middle + 1; else high = middle;
    }
    return low > 0 && address < table->ranges[low - 1].end;
}

void clu_snapshot_of_syscall(clu_snapshot *snapshot, clu_thread_syscall thread) {
    snapshot->registers[CLU_REGISTER_SP] = thread.sp;
    snapshot->registers[CLU_REGISTER_PC] = thread.pc;
    snapshot->known = 1ull << CLU_REGISTER_SP | 1ull << CLU_REGISTER_PC;
    if (thread.number < 0) return;
#if defined(__x86_64__)
    static const int registers[6] = {5, 4, 1, 10, 8, 9};  // rdi rsi rdx r10 r8 r9, in DWARF's numbers
    int first = 0;
#else
    static const int registers[6] = {0, 1, 2, 3, 4, 5};
    int first = 1;  // x0 gets the result
#endif
    for (int index = first; index < 6; index++) {
        snapshot->registers[registers[index]] = thread.arguments[index];
        snapshot->known |= 1ull << registers[index];
    }
}
