// The environment of the process, which Swift's Glibc shows only as a variable that strict concurrency refuses. The path of the shared
// loop table is taken from it when the program is loaded (clb_mirror_record_path).
#ifndef CLL_ENVIRONMENT_H
#define CLL_ENVIRONMENT_H

// The entry at this index, "NAME=value"; NULL after the last. Not while another thread calls setenv or putenv.
const char *cll_environment_entry(int index);

#endif
