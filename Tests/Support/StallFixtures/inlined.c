#include "stall_fixtures.h"

#define INLINED static inline __attribute__((always_inline))

__attribute__((noinline)) const void *fixture_return_address(void) { return __builtin_return_address(0); }

INLINED void fixture_inlined_leaf(fixture_inlined_place *place) {
    const void *address = fixture_return_address(); place->leaf_line = __LINE__;
    place->return_address = address;
}

INLINED void fixture_inlined_middle(fixture_inlined_place *place) {
    fixture_inlined_leaf(place); place->middle_line = __LINE__;
}

__attribute__((noinline)) void fixture_with_inlined(fixture_inlined_place *place) {
    fixture_inlined_middle(place); place->outer_line = __LINE__;
}
