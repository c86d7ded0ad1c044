// Recognises AArch64 instructions by their bits (Arm Architecture Reference Manual, C4.1).
#pragma once

#include <stdint.h>

// Whether the following instruction is not always the next one executed: jumps, calls, returns.
static inline int cll_leaves_straight_line(uint32_t instruction) {
    return (instruction & 0x7c000000) == 0x14000000     // b, bl
        || (instruction & 0xfe000000) == 0x54000000     // b.cond
        || (instruction & 0x7c000000) == 0x34000000     // cbz, cbnz, tbz, tbnz
        || (instruction & 0xfe000000) == 0xd6000000;    // br, blr, ret
}
