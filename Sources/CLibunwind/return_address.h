// Return addresses that are signed (AArch64, pointer authentication): their unused upper bits hold a code made of the address, the stack
// pointer and a key of the process. Compilers sign them with -mbranch-protection (PACIASP), on processors from ARMv8.3 on. Private to this target.
//
// libunwind knows that from 1.7 on, and before rejects the unwind tables of such functions: the instruction that says "signed from here on"
// (DW_CFA_AARCH64_negate_ra_state) is invalid to it. So it never sees either: the addresses that it reads have no code, and its copy of the
// tables has an instruction without effect in that place.
#pragma once

#include <stdint.h>

// The address itself. Of any process of this machine: the kernel gives all of them the same bits for codes.
static inline uint64_t clu_return_address_without_code(uint64_t address) {
#if defined(__aarch64__)
    // XPACLRI, which processors without such codes take for a hint. It works on the link register alone.
    register uint64_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link));
    return link;
#else
    return address;
#endif
}
