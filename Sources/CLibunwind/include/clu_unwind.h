// Unwinding a snapshot: registers and a copy of the stack, never a live thread.
//
// One unwinder belongs to one thread at a time (the watchdog). Nothing here takes the loader's or malloc's lock:
// modules come from our own map, memory through cll_memory_read, libunwind's own pools from mmap.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cll_snapshot.h"

enum { CLU_BUILD_ID_MAX = 32 };

// The start of a function and its entry in .eh_frame, both relative to the start of the module.
typedef struct clu_entry_place {
    int32_t function, entry;
} clu_entry_place;

// A loaded program or library. Written once by the module map, then constant.
typedef struct clu_module {
    uint64_t start, end;      // [start, end) of all its segments
    uint64_t bias;            // address = bias + ELF virtual address
    uint64_t eh_frame_hdr;    // address of the unwind table's header; 0 if it has none
    const clu_entry_place *made_table;  // sorted, in our own memory: used instead, if the linker created none
    uint32_t made_count;
    uint64_t text_start, text_end;  // the executable part
    uint64_t build_id_place;  // its address; 0: none
    uint32_t build_id_length;
    uint8_t build_id[CLU_BUILD_ID_MAX];
    uint32_t path_length;
    const uint8_t *path;      // not NUL-terminated; lives as long as the map
} clu_module;

// Executable memory outside modules: code that JIT compilers generate, or a file's code that is mapped separately
// (V8's builtins, near the code that it generates).
enum { CLU_CODE_NONE = 0, CLU_CODE_MADE = 1, CLU_CODE_OF_FILE = 2 };

typedef struct clu_code_range {
    uint64_t start, end;
    int32_t kind;  // CLU_CODE_…
} clu_code_range;

// The modules of the process at one time: indices into `modules`, sorted by start; and its other code, sorted.
typedef struct clu_module_table {
    const clu_module *modules;
    const uint16_t *active;
    uint32_t count;
    const clu_code_range *ranges;
    uint32_t range_count;
} clu_module_table;

// Index into `modules` of the one that contains `address`, or -1.
int clu_module_find(const clu_module_table *table, uint64_t address);

// The kind of code outside modules that contains `address`: CLU_CODE_….
int clu_code_kind(const clu_module_table *table, uint64_t address);

enum {
    CLU_UNWIND_COMPLETE = 0,   // reached the thread's first frame
    CLU_UNWIND_LIMIT = 1,      // more frames than the limit
    CLU_UNWIND_NO_INFO = 2,    // code without unwind tables, and no frame record to continue with
    CLU_UNWIND_BAD_FRAME = 3,  // a frame that is not valid
};

// ASYNC: a suspended caller, not on any stack. RUNTIME: code of a language's runtime; a walk never sets it.
// WITHOUT_TABLES: no unwind information, like code generated at run time.
enum { CLU_FRAME_RETURN_ADDRESS = 1, CLU_FRAME_SIGNAL = 2, CLU_FRAME_RUNTIME = 4, CLU_FRAME_WITHOUT_TABLES = 8, CLU_FRAME_ASYNC = 16 };

enum { CLU_ASYNC_CALLERS_MAX = 128 };  // a longer list of suspended callers is treated as invalid

typedef struct clu_frame {
    uint64_t pc;
    int16_t module;            // index into modules, -1: in none
    uint16_t flags;
    uint32_t function_distance;  // bytes from the start of its function; 0: not requested, or not known
    uint32_t language;         // number of a frame of a language's runtime; 0: native, like every frame of a walk
} clu_frame;

typedef struct clu_unwind_result {
    uint32_t stored;           // frames written
    uint32_t total;            // frames seen, up to the walk's limit
    int32_t end;               // CLU_UNWIND_…
    int32_t frame_pointer_recovered;  // a frame pointer was searched, or frame records led through code without tables
    uint32_t unknown_modules;  // frames in no known module and no known code
} clu_unwind_result;

typedef struct clu_unwinder clu_unwinder;

// NULL if libunwind is not loaded or there is no memory. Allocates; only at start.
clu_unwinder *clu_unwinder_create(void);
void clu_unwinder_destroy(clu_unwinder *unwinder);
// Drops what was learned about unwind tables: call it after modules were added or removed.
void clu_unwinder_forget(clu_unwinder *unwinder);

// Makes the walks also store, for each frame that they store here, its stack pointer and the value of the frame
// pointer's register there (0: not known); NULL: they do not.
void clu_unwinder_store_pointers(clu_unwinder *unwinder, uint64_t *stack_pointers, uint64_t *frame_pointers);

// If the stack has more frames than there is space for, this many of the stored frames are the last visited ones,
// mostly the outermost.
enum { CLU_OUTER_FRAMES = 64 };

// Walks the snapshot of a thread of process `pid`, leaf first: stores up to `capacity` frames, visits up to `limit`.
// If the stack has more frames than `capacity`, the innermost are stored and, if `capacity` is at least twice
// CLU_OUTER_FRAMES, the last visited ones: the outermost, unless `limit` ends the walk before them.
void clu_unwinder_walk(clu_unwinder *unwinder, const cll_snapshot *snapshot, const clu_module_table *table, pid_t pid,
                       clu_frame *frames, uint32_t capacity, uint32_t limit, clu_unwind_result *result);

// The start of the function that contains `address`, from the unwind tables; 0 if they do not have it. After a walk
// of the same process.
uint64_t clu_unwinder_function(clu_unwinder *unwinder, const clu_module_table *table, uint64_t address);

// The suspended callers of the async function that a task runs, nearest first: each `pc` is where that caller
// continues. After a walk of the same process. `blocks` are those of the task's memory, the newest first. Some 2 us a
// caller; bounded.
uint32_t clu_async_callers(clu_unwinder *unwinder, const clu_module_table *table, pid_t pid, const uint64_t *blocks, uint32_t count,
                           clu_frame *frames, uint32_t capacity);
