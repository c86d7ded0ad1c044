// This process: its arguments, and its crash report.
#pragma once

// The arguments, as glibc passes them to constructors: Swift's CommandLine reads /proc/self/cmdline, and has none if /proc is missing.
// NULL if they were not passed (another C library).
char **clr_process_arguments(int *count);

// From now on a fault of this process writes one line to stderr, "NAME: crashed: signal 11 (…) at 0x…", and then has the signal's default effect:
// termination, with a core if the limits allow one. Replaces the Swift runtime's handlers, which stop all threads and start a program that
// reads this process, and which was seen to hang. Not inherited by started programs.
//
// NAME is the name of the program's file, or `fallback_name`, which must stay valid. On the calling thread the line is written from a separate stack, so
// that an overflow is reported, too.
void clr_process_report_crashes(const char *fallback_name);
