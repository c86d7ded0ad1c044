#include "stall_corpus.h"

#include <time.h>

static uint64_t now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

uint64_t corpus_digest(const uint8_t *bytes, size_t size, uint64_t deadline_ns) {
    // Enough live values that every callee-saved register, including the frame pointer's, holds one of them.
    uint64_t a = 1, b = 2, c = 3, d = 5, e = 7, f = 11;
    while (now_ns() < deadline_ns) {
        for (size_t index = 0; index < size; index++) {
            a = (a ^ bytes[index]) * 0x100000001b3u;
            b = (b << 7 | b >> 57) + a;
            c ^= b >> 3;
            d = d * 31 + c;
            e = (e << 11 | e >> 53) ^ d;
            f += e * a;
        }
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
    }
    return a ^ b ^ c ^ d ^ e ^ f;
}

int64_t corpus_for_each(size_t count, int64_t (*visit)(void *context, size_t index), void *context) {
    int64_t a = 1, b = 2, c = 3, d = 5, e = 7;
    for (size_t index = 0; index < count; index++) {
        a += visit(context, index);
        __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e));
    }
    return a + b + c + d + e;
}
