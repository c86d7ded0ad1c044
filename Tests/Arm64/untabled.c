// Compiled without unwind tables.
#include "subjects.h"

#define SUBJECT __attribute__((noinline, visibility("default")))

static volatile int sink;

SUBJECT void untabled_inner(subject_work work, void *context) {
    volatile char room[48];
    room[0] = 1;
    work(context);
    sink += room[0];
}

// It also saves other registers, so its frame record is at a lower address.
SUBJECT void untabled_outer(subject_work work, void *context) {
    untabled_inner(work, context);
    __asm__ volatile("" ::: "x19", "x20", "x21", "x22");
    sink++;
}

SUBJECT void untabled_leaf(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {}
}
