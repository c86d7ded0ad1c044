#define _GNU_SOURCE
#include "cll_environment.h"

#include <stddef.h>
#include <unistd.h>

const char *cll_environment_entry(int index) { return environ == NULL ? NULL : environ[index]; }
