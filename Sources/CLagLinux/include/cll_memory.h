// Reading memory that may not be there: never faults, never allocates.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Finds out which way of reading this kernel and its sandbox allow. Call once before the others. 0, or an
// errno when none is allowed (then nothing can be captured).
int cll_memory_prepare(void);

// Copies up to `size` bytes from `address` of process `pid`; returns how many could be read (0 when none).
// Async-signal-safe.
size_t cll_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

// The same of up to eight pages, where these are in memory (or swapped out) up to the first one that is not: another one is read from its file first, or
// comes from a program (userfaultfd(2)), and a thread may wait for it already, perhaps for ever. Some 5 µs more.
size_t cll_memory_read_present(pid_t pid, uint64_t address, void *buffer, size_t size);

// Pieces of `size` bytes at these addresses, which may lie anywhere, one after another into `buffer`; returns how many could be read before one that
// could not. One system call for 32.
size_t cll_memory_read_pieces(pid_t pid, const uint64_t *addresses, size_t size, void *buffer, size_t count);

// The same with 64-bit words.
size_t cll_memory_read_words(pid_t pid, const uint64_t *addresses, uint64_t *words, size_t count);

// As cll_memory_read, of a stack. Pages that were never touched read as zeros and are left alone: to read one puts a page there, and where the stack
// lies on userfaultfd it waits for whoever serves the fault. With `is_one_mapping` pages above such ones are copied as well; else the copy ends
// there, as the stack may. 10 to 20 us, and not for a thread that is held meanwhile; where the kernel does not say what was touched, a plain read.
size_t cll_memory_read_stack(pid_t pid, uint64_t address, void *buffer, size_t size, int is_one_mapping);

// Anonymous zeroed memory straight from the kernel, not from malloc; NULL when memory is short.
void *cll_memory_map(size_t size);
void cll_memory_unmap(void *memory, size_t size);
// Gives its pages back; it reads as zero afterwards.
void cll_memory_release(void *memory, size_t size);

// Whether [low, low + size) of this process was never touched, so that no stack pointer can be there.
int cll_memory_is_untouched(uint64_t low, uint64_t size);
