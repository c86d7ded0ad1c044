// The registers that the kernel reports for a sleeping thread.
#include "cll_snapshot.h"

void cll_snapshot_of_syscall(cll_snapshot *snapshot, cll_thread_syscall thread) {
    snapshot->registers[CLL_REGISTER_SP] = thread.sp;
    snapshot->registers[CLL_REGISTER_PC] = thread.pc;
    snapshot->known = 1ull << CLL_REGISTER_SP | 1ull << CLL_REGISTER_PC;
    if (thread.number < 0) return;
#if defined(__x86_64__)
    static const int registers[6] = {5, 4, 1, 10, 8, 9};  // rdi rsi rdx r10 r8 r9, in DWARF's numbers
    int first = 0;
#else
    static const int registers[6] = {0, 1, 2, 3, 4, 5};
    int first = 1;  // x0 gets the result
#endif
    for (int index = first; index < 6; index++) {
        snapshot->registers[registers[index]] = thread.arguments[index];
        snapshot->known |= 1ull << registers[index];
    }
}
