// Modules and other code by address.
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

int clu_code_kind(const clu_module_table *table, uint64_t address) {
    uint32_t low = 0, high = table->range_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (table->ranges[middle].start <= address) low = middle + 1; else high = middle;
    }
    return low > 0 && address < table->ranges[low - 1].end ? table->ranges[low - 1].kind : CLU_CODE_NONE;
}
