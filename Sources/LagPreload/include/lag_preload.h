// liblagmonitor-preload.so: publishes to lagmond the loops of a program that knows nothing of lagmond.
//
// Loaded by LD_PRELOAD, it stands before the C library's calls that wait for events (and that make epoll instances), and writes into the shared loop table whose path
// the variable LAGMONITOR_LOOP_TABLE holds (clb_loop_table.h): at a rest, at work again. Without that table it passes every call on.
//
// What a loop is. A thread that waits again and again at the same place of the same activation: the same return address and the
// same stack pointer. After LOOP_WAITS such waits in a row it gets a slot of the table, after a few where the first is long ago; what never loops
// keeps none. A slot comes with the first wait, provisionally: lagmond watches the thread, and reports nothing until it is a loop. The main thread gets
// such a slot for descriptors of any kind, other threads for an epoll instance or several descriptors; each some times and while half
// of the table is free, and a wait for time alone none.
// Only waits that may last count towards that; once it is a loop, each wait at that place is a rest, also one with time-out 0.
// A wait elsewhere is a call that blocks within the loop's work, and no rest: a handler that polls for an answer stalls its loop.
// Another place of the same function with the same stack pointer counts as the same place: many loops poll first without waiting.
//
// When the loop is another one. If the thread has waited at another place at least 32 times, and for 5 s not where its loop was, then that
// is its loop now; the old one is back with its first wait. (Where the other object is of a higher rank, 8 times and 1 s.) A wait further out is the loop's at once, of an epoll instance after a few, but in
// interpreters, whose calls do not nest on this stack. Who has accepted a connection since its loop's wait serves it: what it waits on is a handler's.
//
// Promises. No system call, no lock, no memory taken on the way of a call; errno, cancellation and results as without it. Nothing
// is ever printed. At most 20 ns a call where the processor's counter is the kernel's clock. A fork's child starts anew.
#pragma once

// Nothing to call: the library's symbols are those of the C library that it stands before.
