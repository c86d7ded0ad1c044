// liblagmonitor-preload.so: publishes the loops of an unmodified program to lagmond.
//
// Loaded by LD_PRELOAD, it wraps the C library's calls that wait for events (and that create epoll instances). It publishes in the shared loop
// table when a thread rests and when it works again; the variable LAGMONITOR_LOOP_TABLE has the table's path (clb_loop_table.h). Without that table it passes
// every call on.
//
// What a loop is: a thread that waits repeatedly at the same place of the same activation, that is with the same return address and the
// same stack pointer. It counts as a loop after LOOP_WAITS such waits in a row, or after a few if the first is long ago; a thread that never
// loops keeps no slot of the table. A slot is claimed at the first wait, provisionally: lagmond watches the thread, but reports nothing until it is
// a loop. The main thread gets such a slot for descriptors of any kind, other threads for an epoll instance or several descriptors; each
// only a few times and while half of the table is free, and never for a wait without descriptors.
// Only waits that may last count; once the thread is a loop, each wait at that place is a rest, also one with timeout 0.
// A wait elsewhere is a blocking call within the loop's work, and not a rest: a handler that polls for an answer stalls its loop.
// Another place of the same function with the same stack pointer counts as the same place: many loops first poll without waiting.
//
// When the loop changes: if the thread has waited at another place at least 32 times, and for 5 s not at its loop's place, the other place
// is its loop now; the old loop returns with its first wait. (If the other object has a higher rank, 8 times and 1 s suffice.) A wait further out
// in the stack is the loop's at once, on an epoll instance after a few, except in interpreters, whose calls do not nest on this stack. A thread
// that has accepted a connection since its loop's wait serves it: its waits belong to a handler.
//
// Guarantees: a wrapped call makes no additional system call, takes no lock and allocates no memory; errno, cancellation and results are unchanged.
// Nothing is ever printed. At most 20 ns per call if the processor's counter is the kernel's clock. The child of a fork starts from scratch.
#pragma once

// Nothing to call: the library's symbols are those of the C library that it wraps.
