// The suspended callers of an async function that runs: they are on no stack, but in a list of contexts.
//
// An async function has a context in its task's memory, whose first two words are its caller's context and the function with which the caller goes on
// (swift/include/swift/ABI/Task.h, AsyncContext). The newest block of that memory that is a context is the one of the function that runs: a function that is
// called gets it from its caller, and gives it back before the caller goes on. So nothing is needed of the thread's registers, which a sleeping thread does not
// show and optimised code does not keep.
#include "cll_memory.h"
#include "unwinder.h"

enum { CONTEXT_ALIGNMENT = 8, CONTEXT_WORDS = 2, LOWEST_ADDRESS = 4096, FUNCTION_ALIGNMENT = 16 };

typedef enum function_kind { NO_FUNCTION, MAY_BE_FUNCTION, IS_FUNCTION } function_kind;

// Whether a function of a known module begins at `pc`: any other number is no way to go on. Functions that keep nothing on the stack may be without unwind
// tables (some of the runtime's own are): these may be anywhere where a function can begin.
static function_kind clu_function_at(clu_unwinder *unwinder, const clu_module_table *table, uint64_t pc) {
    int module = clu_module_find(table, pc);
    if (module < 0) return NO_FUNCTION;
    uint64_t start = clu_unwinder_function(unwinder, table, pc);
    if (start == pc) return IS_FUNCTION;
    const clu_module *code = &table->modules[module];
    if (start != 0 || pc % FUNCTION_ALIGNMENT != 0 || pc < code->text_start || pc >= code->text_end) return NO_FUNCTION;
    return MAY_BE_FUNCTION;
}

// The callers of the function whose context that may be. Returns how many; -1: it is none, or its list leads nowhere.
static int32_t clu_follow_contexts(clu_unwinder *unwinder, const clu_module_table *table, pid_t pid, uint64_t context, clu_frame *frames,
                                   uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t depth = 0; depth < CLU_ASYNC_CALLERS_MAX; depth++) {
        uint64_t words[CONTEXT_WORDS];
        if (context < LOWEST_ADDRESS || context % CONTEXT_ALIGNMENT != 0) return -1;
        if (cll_memory_read(pid, context, words, sizeof(words)) != sizeof(words)) return -1;
        function_kind kind = clu_function_at(unwinder, table, words[1]);
        if (kind == NO_FUNCTION) return -1;
        // The first context's way to go on is the runtime's own: the end of the task.
        if (words[0] == 0) return kind == IS_FUNCTION ? (int32_t)count : -1;
        if (count < capacity) {
            frames[count] = (clu_frame){.pc = words[1], .module = (int16_t)clu_module_find(table, words[1]), .flags = CLU_FRAME_ASYNC};
            count++;
        }
        context = words[0];
    }
    return -1;
}

uint32_t clu_async_callers(clu_unwinder *unwinder, const clu_module_table *table, pid_t pid, const uint64_t *blocks, uint32_t count,
                           clu_frame *frames, uint32_t capacity) {
    for (uint32_t index = 0; index < count; index++) {
        int32_t found = clu_follow_contexts(unwinder, table, pid, blocks[index], frames, capacity);
        if (found >= 0) return (uint32_t)found;
    }
    return 0;
}
