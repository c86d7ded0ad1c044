// Which language's runtime a process runs on, where that decides what is a loop.
#ifndef CLL_GO_PROGRAM_H
#define CLL_GO_PROGRAM_H

#include <sys/types.h>

// Whether the process's program was linked by Go. 0 also where the kernel does not let us read it. Some 20 µs.
int cll_is_go_program(pid_t pid);

#endif
