// Finds the frame pointer that the kernel does not report. Private to this target.
#pragma once

#include "clu_unwind.h"

#include <string.h>

typedef struct memory_view {
    const cll_snapshot *snapshot;
    const clu_module_table *table;
    pid_t pid;
    uint32_t *reads_left;  // of the walk, in addition to libunwind's: code and stack outside the snapshot, one system call each
} memory_view;

// Bytes of the process's memory; returns how many could be read from the start; 0 also if the walk has no reads left.
size_t clu_memory_view_read(const memory_view *view, uint64_t address, void *buffer, size_t size);

// A word of the stack copy; 0 if it is outside.
static inline int snapshot_word(const cll_snapshot *snapshot, uint64_t address, uint64_t *word) {
    // By differences: an address may be the last one of the address space.
    uint64_t offset = address - snapshot->stack_begin;
    if (address < snapshot->stack_begin || snapshot->stack_length < 8 || offset > snapshot->stack_length - 8) return 0;
    memcpy(word, snapshot->stack + offset, 8);
    return 1;
}

// A word of the stack copy, or of the process's memory if its page is present. Returns 1 if it could be read.
int clu_memory_view_word(const memory_view *view, uint64_t address, uint64_t *word);

// The return address in such a word, without the processor's authentication code (return_address.h).
int clu_memory_view_return_address(const memory_view *view, uint64_t address, uint64_t *found);

// Whether there is code at the address: a module's, or generated at run time.
int clu_is_executable(const memory_view *view, uint64_t address);

// Whether `address` is in executable code and follows a call.
int clu_is_plausible_return_address(const memory_view *view, uint64_t address);

// The return address of the frame record at `record`, for a frame whose stack pointer is `sp`; the caller's frame
// pointer in `saved`. 0: it is not a record of this stack, or its return address does not follow a call. On x86-64
// the caller's stack pointer is 16 bytes above the record.
uint64_t clu_frame_record_caller(const memory_view *view, uint64_t sp, uint64_t record, uint64_t *saved);

// The function to which the direct call before a return address leads, also through a table; 0: there is no such
// call.
uint64_t clu_called_function(const memory_view *view, uint64_t return_address);

// How far into a function its code is read.
enum { CLU_FUNCTION_BYTES = 1024 };

// Whether the code from a function's beginning up to `pc` creates a frame record of its own; also true if it cannot
// be read.
int clu_keeps_frame_record(const memory_view *view, uint64_t function, uint64_t pc);
