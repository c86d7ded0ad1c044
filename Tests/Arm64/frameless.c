// Compiled without frame pointers: its unwind tables count from the stack pointer.
#include "subjects.h"

static volatile int sink;

__attribute__((noinline, visibility("default"))) void subject_frameless(subject_work work, void *context) {
    untabled_outer(work, context);
    sink++;
}
