// The page and the beacon's slow paths, as the watched side has them: the same source, hidden in this library. It must not be a
// dependency, for that would bring the whole C edge, and its symbols, into every program.
#define _GNU_SOURCE
// Before the pragma: what the C library declares is not hidden.
#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)
#include "../CLibunwind/page_loop.c"
#include "../CLibunwind/beacon_loop.c"

// These beacons are in the page already: they have no mirror.
void clu_beacon_told(clu_beacon *beacon, uint8_t activity) { clu_beacon_answer(beacon, activity); }
#pragma GCC visibility pop
