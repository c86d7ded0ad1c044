// Filters that a program sets for its own system calls.
#pragma once

#pragma GCC visibility push(hidden)

// Resolves the next definitions of the calls that set them.
void filters_begin(void);

typedef long syscall_function(long, long, long, long, long, long, long);
// The next definition of syscall(2), or one that enters the kernel itself.
extern syscall_function *filters_real_syscall;

#pragma GCC visibility pop
