#define _GNU_SOURCE
#include "clr_switches.h"

#include "cll_perf_sample.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
    DATA_BYTES = 8192,     // or a page, if that is larger: the kernel requires a power of two of pages
    LONGEST_RECORD = 64,   // of the requested records, plus what the kernel keeps free between head and tail
};

int clr_switches_open(pid_t tid, clr_switches *switches) {
    *switches = (clr_switches){.event = -1};
    if (cll_perf_is_filtered()) return EPERM;
    struct perf_event_attr asked = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(asked),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TIME,
        .sample_id_all = 1,
        .context_switch = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
    };
    int event = (int)syscall(SYS_perf_event_open, &asked, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event < 0) return errno;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), bytes = page + (page > DATA_BYTES ? page : DATA_BYTES);
    // Writable: then the kernel keeps unread records, and counts those without space.
    void *ring = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    if (ring == MAP_FAILED) {
        int error = errno;
        close(event);
        return error;
    }
    *switches = (clr_switches){.event = event, .bytes = bytes, .ring = ring};
    return 0;
}

void clr_switches_close(clr_switches *switches) {
    if (switches->event < 0) return;
    munmap(switches->ring, switches->bytes);
    close(switches->event);
    *switches = (clr_switches){.event = -1};
}

void clr_switches_set(const clr_switches *switches, int records) {
    ioctl(switches->event, records ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

int clr_switches_take(const clr_switches *switches, int counter) {
    return ioctl(counter, PERF_EVENT_IOC_SET_OUTPUT, switches->event) == 0;
}

// `length` bytes at a position of the ring, which may wrap around.
static void clr_copy(const struct perf_event_mmap_page *ring, uint64_t bytes, uint64_t position, void *into, uint64_t length) {
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), size = bytes - page;
    const uint8_t *data = (const uint8_t *)ring + page;
    uint64_t offset = position % size;
    uint64_t first = length < size - offset ? length : size - offset;
    memcpy(into, data + offset, first);
    memcpy((uint8_t *)into + first, data, length - first);
}

// The meaning of a record; 0: none.
static int32_t clr_kind(const struct perf_event_header *header) {
    switch (header->type) {
        case PERF_RECORD_SAMPLE: return CLR_SWITCH_PASS;
        // A throttled counter does not count for the rest of the tick.
        case PERF_RECORD_THROTTLE:
        case PERF_RECORD_LOST: return CLR_SWITCH_LOST;
        case PERF_RECORD_SWITCH:
            if ((header->misc & PERF_RECORD_MISC_SWITCH_OUT) == 0) return CLR_SWITCH_IN;
            return (header->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0 ? CLR_SWITCH_PREEMPTED : CLR_SWITCH_ASLEEP;
        default: return 0;
    }
}

// The data after a sample's time (breakpoint.c): the registers in the order of the kernel's numbers, if there are any.
typedef struct clr_registers {
    uint64_t abi, first_argument, sp;
} clr_registers;

// Decodes the record at a position.
static clr_switch clr_read(const clr_switches *switches, uint64_t position, const struct perf_event_header *header) {
    const struct perf_event_mmap_page *ring = switches->ring;
    clr_switch found = {.kind = clr_kind(header), .sp = UINT64_MAX};
    clr_registers registers = {0};
    const uint64_t head = sizeof(*header), time = sizeof(found.time_ns);
    if (header->size < head + time) return found;
    // The time is the first field of a sample, and the last of every other requested record (sample_id_all).
    int is_pass = found.kind == CLR_SWITCH_PASS;
    clr_copy(ring, switches->bytes, position + (is_pass ? head : header->size - time), &found.time_ns, time);
    if (is_pass && header->size >= head + time + sizeof(registers)) {
        clr_copy(ring, switches->bytes, position + head + time, &registers, sizeof(registers));
    }
    // A 32-bit program has other registers.
    if (registers.abi == PERF_SAMPLE_REGS_ABI_64) {
        found.sp = registers.sp;
        found.first_argument = registers.first_argument;
    }
    return found;
}

int clr_switches_next(const clr_switches *switches, uint64_t until_ns, clr_switch *found) {
    struct perf_event_mmap_page *ring = switches->ring;
    uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), tail = ring->data_tail;
    while (head - tail >= sizeof(struct perf_event_header)) {
        struct perf_event_header header;
        clr_copy(ring, switches->bytes, tail, &header, sizeof(header));
        // Never, unless this process wrote there itself.
        if (header.size < sizeof(header) || header.size > head - tail) break;
        clr_switch record = clr_read(switches, tail, &header);
        if (record.kind != 0 && record.time_ns > until_ns) break;
        tail += header.size;
        __atomic_store_n(&ring->data_tail, tail, __ATOMIC_RELEASE);
        if (record.kind == 0) continue;
        *found = record;
        return 1;
    }
    return 0;
}

int clr_switches_is_full(const clr_switches *switches) {
    const struct perf_event_mmap_page *ring = switches->ring;
    uint64_t size = switches->bytes - (uint64_t)sysconf(_SC_PAGESIZE);
    return __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) - ring->data_tail + LONGEST_RECORD > size;
}

void clr_switches_discard(const clr_switches *switches) {
    struct perf_event_mmap_page *ring = switches->ring;
    __atomic_store_n(&ring->data_tail, __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}
