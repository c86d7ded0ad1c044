// Finds the thread pointer of a thread that is not stopped.
#define _GNU_SOURCE
#include "clr_thread_pointer.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"

#if defined(__x86_64__)

// As in the ABI for thread-local storage and glibc's tcbhead_t: the block's address is at its start and in its third word, aligned to a cache line.
enum { SELF_WORD = 2, BLOCK_ALIGNMENT = 64, SEARCHED_BYTES = 1024, SEARCHED_WORDS = SEARCHED_BYTES / 8 };

static int clr_is_block(uint64_t address, const uint64_t *words) {
    return address % BLOCK_ALIGNMENT == 0 && words[0] == address && words[SELF_WORD] == address;
}

uint64_t clr_thread_pointer(pid_t pid, pid_t tid) {
    void *list = NULL;
    size_t length = 0;
    if (syscall(SYS_get_robust_list, tid, &list, &length) != 0) return 0;
    uint64_t head = (uint64_t)(uintptr_t)list;
    if (head % 8 != 0 || head < SEARCHED_BYTES) return 0;
    // The page before may not be mapped.
    uint64_t words[SEARCHED_WORDS] = {0}, begin = head - SEARCHED_BYTES, page = head & ~4095ull;
    if (page > begin) {
        size_t before = page - begin;
        if (cll_memory_read(pid, begin, words, before) != before) memset(words, 0, before);
        begin = page;
    }
    size_t skipped = SEARCHED_BYTES - (head - begin);
    if (head > begin && cll_memory_read(pid, begin, (char *)words + skipped, head - begin) != head - begin) return 0;
    uint64_t found = 0;
    begin = head - SEARCHED_BYTES;
    for (uint32_t word = 0; word + SELF_WORD < SEARCHED_WORDS; word++) {
        if (!clr_is_block(begin + word * 8, words + word)) continue;
        if (found != 0) return 0;
        found = begin + word * 8;
    }
    return found;
}

#else

uint64_t clr_thread_pointer(pid_t pid, pid_t tid) {
    (void)pid;
    (void)tid;
    return 0;
}

#endif
