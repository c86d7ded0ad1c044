#pragma once

#include <stdint.h>

// The kernel's data on a process that claims to have a file mapped.
typedef struct clr_mapping_owner {
    uint64_t start_ticks;  // field 22 of /proc/<pid>/stat: ticks since the machine started, not comparable with CLOCK_MONOTONIC
    uint64_t stack_low;    // the mapping that contains `sp`; 0: none
    uint64_t stack_high;
    uint32_t maps_file;    // whether it has the file of the descriptor mapped
} clr_mapping_owner;

// Reads /proc/<pid>/stat and maps; `sp` is an address in the stack in question. 0, or an errno (ESRCH: gone; EACCES, EPERM: no permission).
int clr_mapping_owner_find(int descriptor, int32_t pid, uint64_t sp, clr_mapping_owner *owner);
