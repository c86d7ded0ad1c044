#include "subjects.h"

#include <alloca.h>
#include <stdint.h>
#include <string.h>

#define SUBJECT __attribute__((noinline, visibility("default")))

static volatile int sink;

SUBJECT void subject_inner(subject_work work, void *context) {
    work(context);
    sink++;
}

SUBJECT void subject_middle(subject_work work, void *context) {
    subject_inner(work, context);
    sink++;
}

SUBJECT void subject_outer(subject_work work, void *context) {
    subject_middle(work, context);
    sink++;
}

static int (*volatile dig_on)(int depth) = subject_dig;
SUBJECT int subject_dig(int depth) {
    volatile char room[64];
    memset((char *)room, depth, sizeof(room));
    return depth == 0 ? room[3] : dig_on(depth - 1) + room[depth % 64];
}

SUBJECT void subject_grown(subject_work work, void *context) {
    sink += subject_dig(40);
    size_t size = 1024 + (size_t)(sink & 15) * 16;
    volatile char *room = alloca(size);
    room[0] = room[size - 1] = 1;
    subject_inner(work, context);
    sink += room[0];
}

SUBJECT void subject_leaf(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) {}
}

SUBJECT static void subject_turn(void) { sink++; }

SUBJECT void subject_spin(void *stop) {
    while (!__atomic_load_n((int *)stop, __ATOMIC_ACQUIRE)) subject_turn();
    sink++;
}

SUBJECT int subject_is_signed(void) {
    const uint64_t *record = __builtin_frame_address(0);
    subject_turn();
    return record[1] >> 48 != 0;  // user addresses have at most 48 bits
}
