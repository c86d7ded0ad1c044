// Where instructions go on, for who follows code that has no unwind tables.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CLU_GOES_ON,
    CLU_CALLS,
    CLU_BRANCHES,   // to `target`, or goes on
    CLU_JUMPS,      // to `target`
    CLU_LEAVES,     // to where a register or the stack says, or stops
} clu_way;

typedef struct clu_step {
    uint32_t length;
    clu_way way;
    int64_t target;  // so far behind the instruction
} clu_step;

// The first instruction of `code`; 0: none that is known, not all of it is there, or it is not x86-64's.
int clu_code_step(const uint8_t *code, size_t size, clu_step *step);
