// Filters that a program sets for its own system calls.
#pragma once

#pragma GCC visibility push(hidden)

// Resolves the next definitions of the calls that set them.
void filters_begin(void);

#pragma GCC visibility pop
