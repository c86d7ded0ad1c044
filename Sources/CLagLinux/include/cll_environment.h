// The environment of the process, which Swift's Glibc shows only as a variable that strict concurrency refuses.
#ifndef CLL_ENVIRONMENT_H
#define CLL_ENVIRONMENT_H

// The entry at this index, "NAME=value"; NULL after the last. Not while another thread calls setenv or putenv.
const char *cll_environment_entry(int index);

#endif
