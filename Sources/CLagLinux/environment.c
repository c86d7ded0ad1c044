#define _GNU_SOURCE
#include "cll_environment.h"

#include "clb_mirror.h"

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

const char *cll_environment_entry(int index) { return environ == NULL ? NULL : environ[index]; }

// Here, because the preloaded library links CLagBeacon and must not have this.
__attribute__((constructor)) static void cll_record_loop_table_path(void) {
    clb_mirror_record_path(secure_getenv(CLB_LOOP_TABLE_VARIABLE));
}
