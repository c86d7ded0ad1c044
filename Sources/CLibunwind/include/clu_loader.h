// libunwind, loaded so that the host does not notice it.
//
// Linking libunwind.so would put its unversioned `_Unwind_*` and `backtrace` before libgcc's and glibc's, and every
// C++ exception of the host would use it. So it is loaded privately: RTLD_LOCAL keeps its symbols out of the global
// scope, RTLD_NOW binds everything before the first stall, RTLD_NODELETE keeps it for the life of the process.
#pragma once

#include <stddef.h>

// Loads the library once. Returns NULL, or a message about what is missing (static or thread-local storage).
const char *clu_loader_load(void);
