// A thread's registers and a copy of its stack: the result of a capture, and the input of the unwinder.
#pragma once

#include <stdint.h>

#include "cll_procfs.h"

#if defined(__x86_64__)
enum { CLL_REGISTERS = 17, CLL_REGISTER_FP = 6, CLL_REGISTER_SP = 7, CLL_REGISTER_PC = 16 };
#elif defined(__aarch64__)
enum { CLL_REGISTERS = 33, CLL_REGISTER_FP = 29, CLL_REGISTER_LR = 30, CLL_REGISTER_SP = 31, CLL_REGISTER_PC = 32 };
#endif

// How much a leaf function may use below its stack pointer (x86-64 psABI, 3.2.2); copied with the stack.
enum { CLL_RED_ZONE = 128 };

typedef struct cll_snapshot {
    uint64_t registers[CLL_REGISTERS];
    uint64_t known;            // a bit per register
    uint64_t stack_begin;      // address of stack[0]
    uint64_t stack_length;     // bytes copied
    uint64_t stack_high;       // end of the thread's stack; 0: unknown
    uint8_t *stack;
    uint64_t capacity;         // size of `stack` in bytes
} cll_snapshot;

// Sets the registers of a sleeping thread from `thread`: stack pointer, program counter, and the six argument
// registers, which a system call does not change (glibc's vfork keeps its return address in one of them).
void cll_snapshot_of_syscall(cll_snapshot *snapshot, cll_thread_syscall thread);
