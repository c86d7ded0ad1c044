// How long an instruction of x86-64 is, and what it does to the stack pointer. Enough to follow code that is run from one to the next.
// Private to this target.
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum {
    CLU_FLOW_ON,      // the next one follows
    CLU_FLOW_BRANCH,  // a jump that is taken or not
    CLU_FLOW_LEAVES,  // a call, or what stops
    CLU_FLOW_JUMPS,
    CLU_FLOW_RETURNS,
} clu_flow;

typedef struct clu_instruction {
    size_t length;
    clu_flow flow;
    int has_target;        // of a jump or a branch, which leads so far behind the instruction
    int64_t target;
    int64_t grows;         // how far down the stack pointer goes
    int moves_stack;       // it goes elsewhere: `grows` says nothing
    int stack_from;        // to where this register shows, by DWARF's number, and so much further up; 0: that is not known
    int64_t stack_further;
    int stack_register;    // the register that it is set from, by the machine's number plus one
    int stack_grows_by;    // the register that is added to it, by the same
    int loads;             // the register that is read from the stack, by the same, so far above the stack pointer as it was before: `restored_from`
    uint32_t names;        // registers that it may write, a bit each by the machine's number; some that it reads as well
    int saves_frame;       // push rbp
    int sets_frame;        // mov rbp, rsp
    int restores_frame;    // rbp is read from the stack, `restored_from`
    int64_t restored_from;
} clu_instruction;

// 0: none that is known, or not all of it is there. Lengths: AMD64 Architecture Programmer's Manual, volume 3, appendix A.
int clu_decode(const uint8_t *code, size_t size, clu_instruction *instruction);
