#pragma once

#include <stdint.h>

// What the kernel knows of a process that claims to have a file mapped.
typedef struct clr_mapping_owner {
    uint64_t start_ticks;  // field 22 of /proc/<pid>/stat: since the machine started, without CLOCK_MONOTONIC's meaning
    uint64_t stack_low;    // the mapping that holds `sp`; 0: none does
    uint64_t stack_high;
    uint32_t maps_file;    // whether it has the file of the descriptor mapped
} clr_mapping_owner;

// Reads /proc/<pid>/stat and maps; `sp` is an address in the stack in question. 0, or an errno (ESRCH: gone; EACCES, EPERM: not ours to see).
int clr_mapping_owner_find(int descriptor, int32_t pid, uint64_t sp, clr_mapping_owner *owner);
