// The language runtime of a process, if it matters for what counts as a loop.
#ifndef CLR_GO_PROGRAM_H
#define CLR_GO_PROGRAM_H

#include <sys/types.h>

// Whether the process's program was linked by Go. 0 also if the kernel does not permit reading it. Takes some 20 µs.
int clr_is_go_program(pid_t pid);
// The same for a file.
int clr_is_go_file(const char *path);

#endif
