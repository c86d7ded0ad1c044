// A malloc in front of glibc's, for the program that it is linked into: counts the calls of one thread.
#ifndef COUNTING_MALLOC_H
#define COUNTING_MALLOC_H

#include <stdint.h>

enum { COUNTED_CALLS_MAX = 64, COUNTED_FRAMES_MAX = 48 };

typedef struct counted_call {
    const char *function;                     // malloc, calloc, realloc, free, …
    uint64_t bytes;
    int32_t frames;
    uint64_t returns[COUNTED_FRAMES_MAX];     // return addresses, leaf first
} counted_call;

// From now on this thread's calls are counted; 0: no thread's. Earlier calls are forgotten.
void counting_watch(int32_t tid);

// The number of calls, and the first of them.
uint64_t counting_count(void);
const counted_call *counting_call(int32_t index);

#endif
