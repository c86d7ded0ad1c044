#define _GNU_SOURCE
#include "clu_environment.h"

#include <stddef.h>
#include <unistd.h>

const char *clu_environment_entry(int index) { return environ == NULL ? NULL : environ[index]; }
