// The suspended callers of a running async function: they are not on a stack, but in a list of contexts.
//
// An async function has a context in its task's memory. The context's first two words are its caller's context and
// the function with which the caller continues (swift/include/swift/ABI/Task.h, AsyncContext). The newest block of
// that memory that is a context belongs to the running function: a called function gets it from its caller, and
// returns it before the caller continues. So the thread's registers are not needed; a sleeping thread does not show
// them, and optimised code does not keep them.
#include "cll_memory.h"
#include "unwinder.h"

enum { CONTEXT_ALIGNMENT = 8, CONTEXT_WORDS = 2, LOWEST_ADDRESS = 4096, FUNCTION_ALIGNMENT = 16 };

typedef enum function_kind { NO_FUNCTION, MAY_BE_FUNCTION, IS_FUNCTION } function_kind;

// Whether a function of a known module begins at `pc`: no other number can be a continuation. Functions that keep
// nothing on the stack may lack unwind tables (some of the runtime's own do): these may be at any address where a
// function can begin.
static function_kind clu_function_at(clu_unwinder *unwinder, const clu_module_table *table, uint64_t pc) {
    int module = clu_module_find(table, pc);
    if (module < 0) return NO_FUNCTION;
    uint64_t start = clu_unwinder_function(unwinder, table, pc);
    if (start == pc) return IS_FUNCTION;
    const clu_module *code = &table->modules[module];
    if (start != 0 || pc % FUNCTION_ALIGNMENT != 0 || pc < code->text_start || pc >= code->text_end) return NO_FUNCTION;
    return MAY_BE_FUNCTION;
}

// The callers of the function to which the context may belong. Returns their number; -1: it is not a context, or its
// list is not valid.
static int32_t clu_follow_contexts(clu_unwinder *unwinder, const clu_module_table *table, pid_t pid, uint64_t context, clu_frame *frames,
                                   uint32_t capacity) {
    uint32_t count = 0;
    for (uint32_t depth = 0; depth < CLU_ASYNC_CALLERS_MAX; depth++) {
        uint64_t words[CONTEXT_WORDS];
        if (context < LOWEST_ADDRESS || context % CONTEXT_ALIGNMENT != 0) return -1;
        if (cll_memory_read(pid, context, words, sizeof(words)) != sizeof(words)) return -1;
        function_kind kind = clu_function_at(unwinder, table, words[1]);
        if (kind == NO_FUNCTION) return -1;
        // The first context's continuation is the runtime's own: the end of the task.
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
