// Signed return addresses (AArch64, pointer authentication): their unused upper bits contain a code computed from the
// address, the stack pointer and a key of the process. Compilers sign them with -mbranch-protection (PACIASP), on
// processors from ARMv8.3 on. Private to this target.
//
// libunwind supports this from 1.7 on. Older versions reject the unwind tables of such functions: the instruction
// that means "signed from here on" (DW_CFA_AARCH64_negate_ra_state) is invalid to them. So libunwind never sees
// either: the addresses that it reads have no code, and its copy of the tables has an instruction without effect in
// that place.
#pragma once

#include <stdint.h>

// The address itself. For any process of this machine: the kernel uses the same bits for the codes of all of them.
static inline uint64_t clu_return_address_without_code(uint64_t address) {
#if defined(__aarch64__)
    // XPACLRI, which processors without such codes treat as a hint. It only works on the link register.
    register uint64_t link __asm__("x30") = address;
    __asm__("hint #7" : "+r"(link));
    return link;
#else
    return address;
#endif
}
