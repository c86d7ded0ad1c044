// FNV-1a, 64 bits (RFC 9923), as in Swift's StableHash: against accidents, not against attackers.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Never 0.
static inline uint64_t clr_stable_hash(const char *bytes, size_t length) {
    uint64_t sum = 0xcbf29ce484222325;
    for (size_t index = 0; index < length; index++) sum = (sum ^ (uint8_t)bytes[index]) * 0x100000001b3;
    return sum | 1;
}
