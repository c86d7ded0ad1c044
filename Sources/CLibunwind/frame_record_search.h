// Finding the frame pointer that the kernel does not report. Private to this target.
#pragma once

#include "clu_unwind.h"

#include <string.h>

typedef struct memory_view {
    const cll_snapshot *snapshot;
    const clu_module_table *table;
    pid_t pid;
    uint32_t *reads_left;  // of the walk, besides those of libunwind: code and stack outside the snapshot, a system call each
} memory_view;

// Bytes of the process's memory; returns how many could be read, from the first one on: 0 also where the walk has no reads left.
size_t clu_memory_view_read(const memory_view *view, uint64_t address, void *buffer, size_t size);

// A word of the stack copy; 0 when it lies outside.
static inline int snapshot_word(const cll_snapshot *snapshot, uint64_t address, uint64_t *word) {
    // By differences: an address may be the last one there is.
    uint64_t offset = address - snapshot->stack_begin;
    if (address < snapshot->stack_begin || snapshot->stack_length < 8 || offset > snapshot->stack_length - 8) return 0;
    memcpy(word, snapshot->stack + offset, 8);
    return 1;
}

// A word of the stack copy, or of the process's memory where its page is there. 1 when it could be read.
int clu_memory_view_word(const memory_view *view, uint64_t address, uint64_t *word);

// The return address in such a word, without the authentication code that processors put into it (return_address.h).
int clu_memory_view_return_address(const memory_view *view, uint64_t address, uint64_t *found);

// Whether code is there: a module's, or one made at run time.
int clu_is_executable(const memory_view *view, uint64_t address);

// Whether `address` is in executable code and follows a call.
int clu_is_plausible_return_address(const memory_view *view, uint64_t address);

// Where the frame record at `record`, of a frame whose stack pointer is `sp`, returns to, and in `saved` the caller's frame pointer.
// 0: it is no record of this stack, or its return address follows no call. On x86-64 the caller's stack pointer is 16 bytes above the record.
uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved);

// The function that the direct call before a return address leads to, also through a table; 0: there is no such call.
uint64_t clu_called_function(const memory_view *view, uint64_t return_address);

// So far into a function its code is read.
enum { CLU_FUNCTION_BYTES = 1024 };

// Whether the code from a function's beginning up to `pc` makes a frame record of its own; also if it cannot be read.
int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc);
