// This process: what it was started with, and what is left of it when it crashes.
#pragma once

// The arguments, as glibc passes them to constructors: Swift's CommandLine reads /proc/self/cmdline, and has none where /proc is missing.
// NULL where no one passed them (another C library).
char **clr_process_arguments(int *count);

// From now on a fault of this process is one line on stderr, "NAME: crashed: signal 11 (…) at 0x…", and the signal's own default: the end,
// with a core where the limits allow one. Takes the place of the Swift runtime's handlers, which stop all threads and start a program that
// reads this process: it was seen to hang. Not inherited by programs that are started.
//
// NAME is that of the program's file, or `fallback_name`, which stays. On the calling thread the line is written from a stack of its own, so
// that an overflow is reported, too.
void clr_process_report_crashes(const char *fallback_name);
