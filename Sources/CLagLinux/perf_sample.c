#define _GNU_SOURCE
#include "cll_perf_sample.h"

#include "clb_beacon.h"
#include "cll_procfs.h"
#include "cll_procfs_text.h"
#include "cll_spare.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <asm/perf_regs.h>
// The kernel's numbers, in DWARF's order. The sample contains the registers in the order of the kernel's numbers.
static const uint8_t kernel_numbers[CLL_REGISTERS] = {
    PERF_REG_X86_AX, PERF_REG_X86_DX, PERF_REG_X86_CX,  PERF_REG_X86_BX,  PERF_REG_X86_SI,  PERF_REG_X86_DI,
    PERF_REG_X86_BP, PERF_REG_X86_SP, PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15, PERF_REG_X86_IP};
#elif defined(__aarch64__)
// Both count x0 to x30, sp, pc.
static const uint8_t kernel_numbers[CLL_REGISTERS] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
                                                      17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif

enum {
    RING_BYTES = 128 * 1024,      // a power of two, more than the longest sample
    STACK_BYTES = 62 * 1024,      // a sample's length is a 16-bit number
    PERIOD_NS = 50000,            // of the thread's own time
};

static uint64_t cll_register_mask(void) {
    uint64_t mask = 0;
    for (int index = 0; index < CLL_REGISTERS; index++) mask |= 1ull << kernel_numbers[index];
    return mask;
}

// The next `size` bytes of the record; 0 if it is shorter. A single sample is at the start of the ring, so it never
// wraps.
typedef struct reader { const uint8_t *next, *end; } reader;
static int cll_take(reader *from, void *into, uint64_t size) {
    if ((uint64_t)(from->end - from->next) < size) return 0;
    memcpy(into, from->next, size);
    from->next += size;
    return 1;
}

// PERF_RECORD_SAMPLE with REGS_USER and STACK_USER: abi, the registers, the stack's size, the stack, how much of it
// is filled.
static int cll_read_sample(reader record, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot) {
    uint64_t abi, mask = cll_register_mask(), room, filled;
    if (!cll_take(&record, &abi, sizeof(abi)) || abi != PERF_SAMPLE_REGS_ABI_64) return ENODATA;
    uint64_t found[64] = {0};
    for (int number = 0; number < 64; number++) {
        if ((mask >> number & 1) != 0 && !cll_take(&record, &found[number], sizeof(found[number]))) return ENODATA;
    }
    if (!cll_take(&record, &room, sizeof(room)) || room == 0 || (uint64_t)(record.end - record.next) < room + sizeof(filled)) return ENODATA;
    const uint8_t *stack = record.next;
    record.next += room;
    if (!cll_take(&record, &filled, sizeof(filled)) || filled > room || filled == 0) return ENODATA;
    for (int index = 0; index < CLL_REGISTERS; index++) snapshot->registers[index] = found[kernel_numbers[index]];
    snapshot->known = (1ull << CLL_REGISTERS) - 1;
    uint64_t begin = snapshot->registers[CLL_REGISTER_SP];
    uint64_t length = filled < snapshot->capacity ? filled : snapshot->capacity;
    // The thread may be on another stack, like a signal handler.
    int is_bounded = begin >= stack_low && begin < stack_high;
    if (is_bounded && length > stack_high - begin) length = stack_high - begin;
    snapshot->stack_begin = begin;
    snapshot->stack_high = is_bounded ? stack_high : 0;
    snapshot->stack_length = length;
    memcpy(snapshot->stack, stack, length);
    return 0;
}

// Waits for the one sample. 0 or an errno.
static int cll_await_sample(int event, uint64_t deadline_ns) {
    struct pollfd waiting = {.fd = event, .events = POLLIN};
    for (;;) {
        uint64_t now = clb_now_ns();
        if (now >= deadline_ns) return ETIMEDOUT;
        uint64_t left = deadline_ns - now;
        struct timespec time = {.tv_sec = (time_t)(left / 1000000000), .tv_nsec = (long)(left % 1000000000)};
        int got = ppoll(&waiting, 1, &time, NULL);
        // After the one sample, the event hangs up; if the thread has ended, it hangs up as well, without a sample.
        if (got > 0) return 0;
        if (got < 0 && errno != EINTR) return errno;
    }
}

static int cll_visit_filter(char *line, void *context) {
    if (strncmp(line, "Seccomp:\t", 9) != 0) return 0;
    *(int *)context = line[9] != '0';
    return 1;
}

// It is not known in advance what a filter does with a forbidden call: systemd's kill the process.
int cll_perf_is_filtered(void) {
    int is_filtered = 0, fd = cll_procfs_open(getpid(), (pid_t)syscall(SYS_gettid), "status");
    if (fd < 0) return 1;
    int result = cll_lines_each(fd, cll_visit_filter, &is_filtered);
    cll_spare_close(fd);
    return result < 0 || is_filtered;
}

// Whether the kernel refused this process samples in the kernel. Any thread.
static _Atomic int own_code_alone;

static int cll_open_sampler(pid_t tid, struct perf_event_attr *asked) {
    asked->exclude_kernel = atomic_load_explicit(&own_code_alone, memory_order_relaxed) != 0;
    int event = (int)syscall(SYS_perf_event_open, asked, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event >= 0 || asked->exclude_kernel || (errno != EACCES && errno != EPERM)) return event;
    asked->exclude_kernel = 1;
    event = (int)syscall(SYS_perf_event_open, asked, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event >= 0) atomic_store_explicit(&own_code_alone, 1, memory_order_relaxed);
    return event;
}

int cll_perf_sample(pid_t tid, uint64_t stack_low, uint64_t stack_high, cll_snapshot *snapshot, uint64_t limit_ns, int *where) {
    if (cll_perf_is_filtered()) return EPERM;
    struct perf_event_attr asked = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(asked),
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_period = PERIOD_NS,
        .sample_type = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .disabled = 1,
        .exclude_hv = 1,
        .wakeup_events = 1,
        .sample_regs_user = cll_register_mask(),
        .sample_stack_user = STACK_BYTES,
    };
    int event = cll_open_sampler(tid, &asked);
    if (event < 0) return errno;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page + RING_BYTES;
    struct perf_event_mmap_page *ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, event, 0);
    int error = ring == MAP_FAILED ? errno : 0;
    // Enabled for one sample.
    if (error == 0 && ioctl(event, PERF_EVENT_IOC_REFRESH, 1) != 0) error = errno;
    if (error == 0) error = cll_await_sample(event, clb_now_ns() + limit_ns);
    if (error == 0) {
        const uint8_t *data = (const uint8_t *)ring + page;
        uint64_t head = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE);
        struct perf_event_header header;
        memcpy(&header, data, sizeof(header));
        if (head < sizeof(header)) error = ESRCH;
        else if (header.type != PERF_RECORD_SAMPLE || header.size > head || header.size < sizeof(header)) error = ENODATA;
        else error = cll_read_sample((reader){data + sizeof(header), data + header.size}, stack_low, stack_high, snapshot);
        int is_kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
        *where = asked.exclude_kernel ? CLL_PERF_OWN_CODE_ALONE : is_kernel ? CLL_PERF_KERNEL : CLL_PERF_OWN_CODE;
    }
    if (ring != MAP_FAILED) munmap(ring, size);
    close(event);
    return error;
}
