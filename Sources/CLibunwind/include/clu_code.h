// Where instructions continue, for following code that has no unwind tables.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CLU_CONTINUES,
    CLU_CALLS,
    CLU_BRANCHES,   // to `target`, or continues
    CLU_JUMPS,      // to `target`
    CLU_LEAVES,     // to an address in a register or on the stack, or stops
} clu_control_flow;

typedef struct clu_step {
    uint32_t length;
    clu_control_flow flow;
    int64_t target;  // distance from the end of the instruction
} clu_step;

// The first instruction of `code`; 0: not supported, incomplete, or the code is not x86-64's.
int clu_code_step(const uint8_t *code, size_t size, clu_step *step);
