// A descriptor kept in reserve for when the process has no other left: a stall can be captured even then.
#pragma once

// Keeps one in reserve until the same number of calls of cll_spare_release. Any thread.
void cll_spare_retain(void);
void cll_spare_release(void);

// Like open(2): a descriptor, or a negative errno. If the process or the machine has none left, the reserved one is
// closed to free its number. Another thread may take it first; then there is none until a file that was opened here
// is closed. Async-signal-safe, like open(2).
int cll_spare_open(const char *path, int flags);

// Closes a descriptor from cll_spare_open, or keeps it in reserve if there is none.
void cll_spare_close(int descriptor);
