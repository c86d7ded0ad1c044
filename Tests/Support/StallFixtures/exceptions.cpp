#include "stall_fixtures.h"

#include <stdexcept>

__attribute__((noinline)) static int deep(int level) {
    if (level == 0) throw std::runtime_error("expected");
    return deep(level - 1) + 1;
}

extern "C" int fixture_throw_and_catch(void) {
    try {
        return deep(20);
    } catch (const std::runtime_error &) {
        return 42;
    }
}
