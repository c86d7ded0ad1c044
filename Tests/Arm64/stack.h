// The modules of this process, and stack walks of its threads.
#ifndef STACK_H
#define STACK_H

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clb_beacon.h"
#include "cll_memory.h"
#include "cll_signal.h"
#include "clu_loader.h"
#include "clu_unwind.h"

enum { STACK_MODULES = 64, STACK_FRAMES = 64, STACK_BYTES = 256 * 1024 };

typedef struct stack_walk {
    clu_frame frames[STACK_FRAMES];
    clu_unwind_result result;
    char text[2048];  // the frames' names
} stack_walk;

static clu_module stack_modules[STACK_MODULES];
static uint16_t stack_active[STACK_MODULES];
static clu_code_range stack_ranges[4];
static clu_module_table stack_table = {.modules = stack_modules, .active = stack_active, .ranges = stack_ranges};
static clu_unwinder *stack_unwinder;

static int stack_add_module(struct dl_phdr_info *info, size_t size, void *context) {
    clu_module *module = &stack_modules[stack_table.count];
    if (stack_table.count == STACK_MODULES) return 1;
    memset(module, 0, sizeof(*module));
    module->bias = info->dlpi_addr;
    module->start = UINT64_MAX;
    for (int index = 0; index < info->dlpi_phnum; index++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[index];
        uint64_t start = info->dlpi_addr + part->p_vaddr, end = start + part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME) module->eh_frame_hdr = start;
        if (part->p_type != PT_LOAD) continue;
        if (start < module->start) module->start = start;
        if (end > module->end) module->end = end;
        if ((part->p_flags & PF_X) == 0) continue;
        module->text_start = start;
        module->text_end = end;
    }
    if (module->end != 0) stack_table.count++;
    return 0;
}

static int stack_compare(const void *one, const void *other) {
    uint64_t a = stack_modules[*(const uint16_t *)one].start, b = stack_modules[*(const uint16_t *)other].start;
    return a < b ? -1 : a > b;
}

// Returns NULL, or why the unwinder could not be created.
static const char *stack_prepare(void) {
    const char *failure = clu_loader_load();
    if (failure != NULL) return failure;
    if (cll_memory_prepare() != 0) return "no way to read memory";
    dl_iterate_phdr(stack_add_module, NULL);
    for (uint32_t index = 0; index < stack_table.count; index++) stack_active[index] = (uint16_t)index;
    qsort(stack_active, stack_table.count, sizeof(stack_active[0]), stack_compare);
    stack_unwinder = clu_unwinder_create();
    return stack_unwinder != NULL ? NULL : "no unwinder";
}

static cll_snapshot *stack_snapshot(void) {
    cll_snapshot *snapshot = calloc(1, sizeof(*snapshot));
    snapshot->stack = malloc(STACK_BYTES);
    snapshot->capacity = STACK_BYTES;
    return snapshot;
}

static const char *stack_name(const clu_frame *frame) {
    Dl_info info;
    uint64_t pc = frame->pc - ((frame->flags & CLU_FRAME_RETURN_ADDRESS) != 0 ? 1 : 0);
    return dladdr((void *)(uintptr_t)pc, &info) != 0 && info.dli_sname != NULL ? info.dli_sname : "?";
}

static void stack_walk_over(const cll_snapshot *snapshot, pid_t pid, stack_walk *walk) {
    memset(walk, 0, sizeof(*walk));
    clu_unwinder_walk(stack_unwinder, snapshot, &stack_table, pid, walk->frames, STACK_FRAMES, STACK_FRAMES, &walk->result);
    size_t length = 0;
    for (uint32_t index = 0; index < walk->result.stored && length < sizeof(walk->text) - 80; index++) {
        const char *mark = (walk->frames[index].flags & CLU_FRAME_SIGNAL) != 0 ? "(signal)" : "";
        length += (size_t)snprintf(walk->text + length, sizeof(walk->text) - length, "%s%.60s%s", index > 0 ? " < " : "",
                                   stack_name(&walk->frames[index]), mark);
    }
    snprintf(walk->text + length, sizeof(walk->text) - length, ", end %d", walk->result.end);
}

// Whether these functions, separated by spaces, are consecutive frames, and the walk reaches the thread's first frame.
static int stack_has(const stack_walk *walk, const char *names) {
    char list[256];
    for (uint32_t first = 0; first < walk->result.stored; first++) {
        strcpy(list, names);
        uint32_t at = first;
        char *rest = NULL, *name = strtok_r(list, " ", &rest);
        while (name != NULL && at < walk->result.stored && strcmp(stack_name(&walk->frames[at]), name) == 0) {
            name = strtok_r(NULL, " ", &rest);
            at++;
        }
        if (name == NULL) return walk->result.end == CLU_UNWIND_COMPLETE;
    }
    return 0;
}

#endif
