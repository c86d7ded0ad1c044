// The length of an x86-64 instruction, and its effect on the stack pointer: enough to follow code from one
// instruction to the next. Private to this target.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CLU_FLOW_ON,      // the next one follows
    CLU_FLOW_BRANCH,  // a conditional jump
    CLU_FLOW_LEAVES,  // a call, or an instruction that stops
    CLU_FLOW_JUMPS,
    CLU_FLOW_RETURNS,
} clu_flow;

typedef struct clu_instruction {
    size_t length;
    clu_flow flow;
    int has_target;        // a jump or a branch with a known target
    int64_t target;        // its distance from the end of the instruction
    int64_t grows;         // how far the stack pointer moves down
    int moves_stack;       // it moves elsewhere: `grows` is not valid
    int stack_from;        // the DWARF number of the register from which it is set; 0: not known
    int64_t stack_further; // added to that register
    int stack_register;    // the same register, by the machine's number plus one
    int stack_grows_by;    // the register that is added to it, numbered likewise
    int loads;             // the register that is read from the stack, numbered likewise, at `restored_from`
    uint32_t names;        // registers that it may write (a bit each, by the machine's number); includes some that it only reads
    int saves_frame;       // push rbp
    int sets_frame;        // mov rbp, rsp
    int restores_frame;    // rbp is read from the stack, at `restored_from`
    int64_t restored_from; // above the stack pointer before the instruction
} clu_instruction;

// 0: not supported, or incomplete. Lengths: AMD64 Architecture Programmer's Manual, volume 3, appendix A.
int clu_decode(const uint8_t *code, size_t size, clu_instruction *instruction);
