// Paths below /proc, made without the C library's formatting, which may take memory.
#ifndef PROCFS_TEXT_H
#define PROCFS_TEXT_H

// Writes the number in decimal, without an end mark. Returns where it ends.
char *clu_append_number(char *out, unsigned number);

#endif
