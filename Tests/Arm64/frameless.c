// Compiled without frame pointers, so its unwind tables are relative to the stack pointer.
#include "subjects.h"

static volatile int sink;

__attribute__((noinline, visibility("default"))) void subject_frameless(subject_work work, void *context) {
    untabled_outer(work, context);
    sink++;
}
