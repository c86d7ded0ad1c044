// A descriptor kept back for when the process has no other left: a stall has a place even then.
#pragma once

// Keeps one back until as many calls of cll_spare_release. Any thread.
void cll_spare_retain(void);
void cll_spare_release(void);

// As open(2): a descriptor, or a negative errno. Where the process or the machine has none left, the one that was kept back makes room;
// another thread may be faster to take it, and then there is none until a file that was opened here is closed. Async-signal-safe, as open(2) is.
int cll_spare_open(const char *path, int flags);

// Closes what cll_spare_open gave, or keeps it back where nothing is.
void cll_spare_close(int descriptor);
