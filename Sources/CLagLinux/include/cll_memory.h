// Reading memory that may be unmapped: never faults, never allocates.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Finds out which way of reading this kernel and its sandbox permit. Call it once before the others. 0, or an errno
// if none is permitted (then nothing can be captured).
int cll_memory_prepare(void);

// Copies up to `size` bytes from `address` of process `pid`; returns how many could be read (0 if none).
// Async-signal-safe.
size_t cll_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size);

// The same for up to eight pages, as far as they are in memory (or swapped out), up to the first one that is not:
// reading that one would load it from its file, or a program provides it (userfaultfd(2)), and a thread may already
// wait for it, perhaps forever. Some 5 µs more.
size_t cll_memory_read_present(pid_t pid, uint64_t address, void *buffer, size_t size);

// Pieces of `size` bytes at these addresses, which may be anywhere, one after another into `buffer`; returns how many
// could be read before one that could not. One system call for 32.
size_t cll_memory_read_pieces(pid_t pid, const uint64_t *addresses, size_t size, void *buffer, size_t count);

// The same with 64-bit words.
size_t cll_memory_read_words(pid_t pid, const uint64_t *addresses, uint64_t *words, size_t count);

// How many of these pieces, from the first on, can be read without a wait: their pages are in the page tables of that
// process, or are not mapped. Another page may be on a disk, or a program provides it (userfaultfd(2), FUSE), perhaps
// never. It may as well be in memory, if this process never touched it: shared memory or a file's page that another
// process wrote or read (fork(2) does not copy their entries). The kernel does not show which without a walk through the
// page tables of all mappings (VmFlags in /proc/PID/smaps), so they count as not ready. One system call for 32 pages,
// 0.2 us each, which touches no page; some 20 us more if the main thread has ended. All pieces if the kernel or a sandbox
// does not permit it. `*missing` becomes the first page that is not ready.
size_t cll_memory_ready_pieces(pid_t pid, const uint64_t *addresses, size_t size, size_t count, uint64_t *missing);

// The same for one range: how many of its bytes.
size_t cll_memory_ready_bytes(pid_t pid, uint64_t address, size_t count);

// The start of the page after that of the address.
uint64_t cll_memory_page_after(uint64_t address);

// Like cll_memory_read, for a stack. Pages that were never touched read as zeros and are not accessed: reading such a
// page would allocate it, and if the stack is on userfaultfd, it would wait for the program that serves the fault.
// With `is_one_mapping`, pages above such pages are copied as well; otherwise the copy ends there, as the stack may.
// 10 to 20 us; if the kernel does not report which pages were touched, a plain read.
size_t cll_memory_read_stack(pid_t pid, uint64_t address, void *buffer, size_t size, int is_one_mapping);

// The same in two steps, for a thread that is stopped meanwhile: opening the page map before the stop takes most of the
// time. -1 if it cannot be opened; cll_spare_close closes it.
int cll_memory_open_pagemap(pid_t pid);
size_t cll_memory_read_touched(pid_t pid, int pagemap, uint64_t address, void *buffer, size_t size, int is_one_mapping);

// Anonymous zeroed memory directly from the kernel, not from malloc; NULL if there is no memory.
void *cll_memory_map(size_t size);
void cll_memory_unmap(void *memory, size_t size);
// Returns its pages to the kernel; it reads as zero afterwards.
void cll_memory_release(void *memory, size_t size);

// Whether [low, low + size) of this process was never touched, so that no stack pointer can be there.
int cll_memory_is_untouched(uint64_t low, uint64_t size);
