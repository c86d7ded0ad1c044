#define _GNU_SOURCE
#include "cll_memory.h"
#include "cll_procfs_text.h"
#include "cll_spare.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

// Whether `pagemap` reports a present page as present: false if an emulator has pages of another size.
static int pagemap_is_true;

// -1: process_vm_readv works. Otherwise a descriptor of /proc/thread-self/mem, for sandboxes that forbid the call.
static int memory_descriptor = -1;
static int prepared;

// Bits 62 and 63 of an entry (proc(5), /proc/<pid>/pagemap): swapped out, or being moved; present.
#define PAGEMAP_IS_THERE (3ull << 62)

// Whether the pages from `page` on were touched: up to `count` entries. Returns how many could be read.
static size_t cll_pagemap_read(int descriptor, uint64_t page, uint64_t *entries, size_t count) {
    long got = pread(descriptor, entries, count * sizeof(*entries), (off_t)(page * sizeof(*entries)));
    return got < 0 ? 0 : (size_t)got / sizeof(*entries);
}

int cll_memory_prepare(void) {
    if (__atomic_load_n(&prepared, __ATOMIC_ACQUIRE)) return 0;
    uint64_t probe = 1, copy = 0;
    struct iovec local = {&copy, sizeof(copy)}, remote = {&probe, sizeof(probe)};
    if (process_vm_readv((pid_t)syscall(SYS_gettid), &local, 1, &remote, 1, 0) != (long)sizeof(copy)) {
        memory_descriptor = open("/proc/thread-self/mem", O_RDONLY | O_CLOEXEC);
        if (memory_descriptor < 0) return errno;
    }
    uint64_t entry = 0;
    int descriptor = cll_procfs_open(getpid(), 0, "pagemap");
    if (descriptor >= 0) {
        const uint64_t page = (uint64_t)(uintptr_t)&entry / (uint64_t)sysconf(_SC_PAGESIZE);
        pagemap_is_true = cll_pagemap_read(descriptor, page, &entry, 1) == 1 && (entry & PAGEMAP_IS_THERE) != 0;
        cll_spare_close(descriptor);
    }
    __atomic_store_n(&prepared, 1, __ATOMIC_RELEASE);
    return 0;
}

size_t cll_memory_read(pid_t pid, uint64_t address, void *buffer, size_t size) {
    int saved = errno;
    long got;
    if (memory_descriptor >= 0) {
        // Only our own process: if the call is forbidden, nothing of another process can be read.
        if (pid != getpid()) return 0;
        got = pread(memory_descriptor, buffer, size, (off_t)address);
    } else {
        struct iovec local = {buffer, size}, remote = {(void *)(uintptr_t)address, size};
        got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
        if (got < 0 && errno == ESRCH) {
            // The main thread may have ended: then a live thread's number gives access to the memory.
            pid_t other = cll_living_thread(pid);
            if (other != 0) {
                pid = other;
                got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
            }
        }
        if (got < 0) {
            // The range extends into a hole: read what comes before it, page by page.
            size_t total = 0;
            while (total < size) {
                size_t step = 4096 - ((address + total) & 4095);
                if (step > size - total) step = size - total;
                struct iovec part = {(char *)buffer + total, step};
                struct iovec from = {(void *)(uintptr_t)(address + total), step};
                if (process_vm_readv(pid, &part, 1, &from, 1, 0) != (long)step) break;
                total += step;
            }
            got = (long)total;
        }
    }
    errno = saved;
    return got < 0 ? 0 : (size_t)got;
}

size_t cll_memory_read_pieces(pid_t pid, const uint64_t *addresses, size_t size, void *buffer, size_t count) {
    enum { AT_ONCE = 32 };
    size_t done = 0;
    for (;;) {
        while (done < count && memory_descriptor < 0) {
            size_t step = count - done < AT_ONCE ? count - done : AT_ONCE;
            struct iovec local = {(char *)buffer + done * size, step * size}, remote[AT_ONCE];
            for (size_t index = 0; index < step; index++) {
                remote[index] = (struct iovec){(void *)(uintptr_t)addresses[done + index], size};
            }
            int saved = errno;
            long got = process_vm_readv(pid, &local, 1, remote, step, 0);
            errno = saved;
            if (got > 0) done += (size_t)got / size;
            if (got != (long)(step * size)) break;
        }
        // An unreadable piece ends it. So would a sandbox that forbids the call, or a main thread that has ended:
        // then each is read separately.
        if (done == count || cll_memory_read(pid, addresses[done], (char *)buffer + done * size, size) != size) return done;
        done++;
    }
}

// Pages per system call.
enum { PAGES_AT_ONCE = 32 };

// How many of these pages, from the first on, can be read without a wait. `pid` becomes the number that gives access.
static size_t cll_ready_pages(pid_t *pid, void **pages, size_t count) {
    int states[PAGES_AT_ONCE], saved = errno;
    // Without nodes it only reports where pages are.
    long result = syscall(SYS_move_pages, *pid, count, pages, NULL, states, 0);
    if (result != 0 && (errno == EINVAL || errno == ESRCH)) {
        // The main thread may have ended: then a live thread's number gives access to the memory.
        const pid_t other = cll_living_thread(*pid);
        if (other != 0) {
            *pid = other;
            result = syscall(SYS_move_pages, *pid, count, pages, NULL, states, 0);
        }
    }
    errno = saved;
    size_t ready = 0;
    while (ready < count && (result != 0 || states[ready] != -ENOENT)) ready++;
    return ready;
}

size_t cll_memory_ready_pieces(pid_t pid, const uint64_t *addresses, size_t size, size_t count, uint64_t *missing) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), rest = size > 0 ? size - 1 : 0;
    // The page of each entry, and the piece that it belongs to.
    void *pages[PAGES_AT_ONCE];
    size_t pieces[PAGES_AT_ONCE];
    size_t done = 0;
    uint64_t next = 0;
    while (done < count) {
        size_t asked = 0, piece = done;
        uint64_t at = next;
        while (piece < count && asked < PAGES_AT_ONCE) {
            const uint64_t last = addresses[piece] <= UINT64_MAX - rest ? addresses[piece] + rest : UINT64_MAX;
            if (at == 0) at = addresses[piece] & ~(page - 1);
            pages[asked] = (void *)(uintptr_t)at;
            pieces[asked++] = piece;
            // The last page of the address space has none after it.
            if (at >= (last & ~(page - 1)) || at > UINT64_MAX - page) {
                piece++;
                at = 0;
            } else {
                at += page;
            }
        }
        const size_t ready = cll_ready_pages(&pid, pages, asked);
        if (ready < asked) {
            *missing = (uint64_t)(uintptr_t)pages[ready];
            return pieces[ready];
        }
        done = piece;
        next = at;
    }
    return count;
}

size_t cll_memory_ready_bytes(pid_t pid, uint64_t address, size_t count) {
    uint64_t missing = 0;
    if (cll_memory_ready_pieces(pid, &address, count, 1, &missing) == 1) return count;
    return missing > address ? (size_t)(missing - address) : 0;
}

uint64_t cll_memory_page_after(uint64_t address) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return (address & ~(page - 1)) + page;
}

size_t cll_memory_read_words(pid_t pid, const uint64_t *addresses, uint64_t *words, size_t count) {
    return cll_memory_read_pieces(pid, addresses, sizeof(*words), words, count);
}

size_t cll_memory_read_present(pid_t pid, uint64_t address, void *buffer, size_t size) {
    enum { PAGES = 8 };
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), first = address / page;
    if (size == 0 || size > PAGES * page || address > UINT64_MAX - size) return 0;
    const size_t count = (size_t)((address + size - 1) / page - first) + 1;
    uint64_t entries[PAGES + 1];
    int saved = errno;
    int descriptor = pagemap_is_true ? cll_procfs_open(pid, 0, "pagemap") : -1;
    size_t known = descriptor >= 0 ? cll_pagemap_read(descriptor, first, entries, count) : 0;
    if (descriptor >= 0) cll_spare_close(descriptor);
    errno = saved;
    // Without entries (some kernels return none if the process's main thread has ended) it has to be tried.
    size_t there = 0;
    while (there < known && (entries[there] & PAGEMAP_IS_THERE) != 0) there++;
    if (known > 0 && there == 0) return 0;
    const size_t end = known > 0 && there < count ? (size_t)((first + there) * page - address) : size;
    return cll_memory_read(pid, address, buffer, end);
}

// Copies a part of a range; false if not all of it could be read.
static int cll_copy_run(pid_t pid, uint64_t address, void *buffer, size_t from, size_t to, size_t *end) {
    size_t got = cll_memory_read(pid, address + from, (char *)buffer + from, to - from);
    if (got > 0) *end = from + got;
    return got == to - from;
}

size_t cll_memory_read_stack(pid_t pid, uint64_t address, void *buffer, size_t size, int is_one_mapping) {
    int saved = errno;
    int descriptor = cll_memory_open_pagemap(pid);
    size_t end = cll_memory_read_touched(pid, descriptor, address, buffer, size, is_one_mapping);
    if (descriptor >= 0) cll_spare_close(descriptor);
    errno = saved;
    return end;
}

int cll_memory_open_pagemap(pid_t pid) { return cll_procfs_open(pid, 0, "pagemap"); }

size_t cll_memory_read_touched(pid_t pid, int descriptor, uint64_t address, void *buffer, size_t size, int is_one_mapping) {
    if (descriptor < 0) return cll_memory_read(pid, address, buffer, size);
    int saved = errno;
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entries[64];
    size_t known = 0, next = 0;
    // [from, at): touched, and not copied yet, while `is_open`. Everything before `end` is copied.
    size_t at = 0, from = 0, end = 0;
    int is_open = 0, is_whole = 1;
    while (is_whole && at < size) {
        size_t step = (size_t)(page - ((address + at) & (page - 1)));
        if (step > size - at) step = size - at;
        if (next == known) {
            known = cll_pagemap_read(descriptor, (address + at) / page, entries, sizeof(entries) / sizeof(*entries));
            next = 0;
            // If the process's main thread has ended, some kernels return no entries.
            if (known == 0 && at == 0) end = cll_memory_read(pid, address, buffer, size);
            if (known == 0) break;
        }
        int is_there = (entries[next++] & PAGEMAP_IS_THERE) != 0;
        // The page in which the red zone begins may never have been touched.
        if (!is_there && !is_one_mapping && at > 0) break;
        if (is_there && !is_open) from = at;
        if (!is_there) {
            if (is_open) is_whole = cll_copy_run(pid, address, buffer, from, at, &end);
            memset((char *)buffer + at, 0, step);
        }
        is_open = is_there;
        at += step;
    }
    if (is_open) cll_copy_run(pid, address, buffer, from, at, &end);
    errno = saved;
    return end;
}

void *cll_memory_map(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void cll_memory_unmap(void *memory, size_t size) {
    if (memory != NULL) munmap(memory, size);
}

void cll_memory_release(void *memory, size_t size) { madvise(memory, size, MADV_DONTNEED); }

int cll_memory_is_untouched(uint64_t low, uint64_t size) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t begin = low & ~(page - 1), end = (low + size + page - 1) & ~(page - 1);
    unsigned char resident[64];
    for (uint64_t at = begin; at < end;) {
        uint64_t step = end - at;
        if (step > sizeof(resident) * page) step = sizeof(resident) * page;
        if (mincore((void *)(uintptr_t)at, step, resident) != 0) {
            // ENOMEM: not mapped. That part of a growing main stack was never reached; check the rest by pages.
            if (errno != ENOMEM) return 0;
            if (step == page) {
                at += page;
                continue;
            }
            for (uint64_t part = at; part < at + step; part += page) {
                if (!cll_memory_is_untouched(part, page)) return 0;
            }
            at += step;
            continue;
        }
        for (uint64_t index = 0; index < step / page; index++) {
            if (resident[index] & 1) return 0;
        }
        at += step;
    }
    return 1;
}
