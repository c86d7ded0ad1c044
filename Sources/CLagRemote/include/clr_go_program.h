// Which language's runtime a process runs on, where that decides what is a loop.
#ifndef CLR_GO_PROGRAM_H
#define CLR_GO_PROGRAM_H

#include <sys/types.h>

// Whether the process's program was linked by Go. 0 also where the kernel does not let us read it. Some 20 µs.
int clr_is_go_program(pid_t pid);
// The same of a file.
int clr_is_go_file(const char *path);

#endif
