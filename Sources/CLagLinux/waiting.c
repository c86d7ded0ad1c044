// What a thread waits for in the kernel, read from `/proc` and from the memory that its system call points to.
#define _GNU_SOURCE
#include "cll_waiting.h"

#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cll_memory.h"
#include "cll_procfs_text.h"

// Which argument of a system call contains what; -1: none.
typedef struct shape {
    int8_t descriptor, path, address, polled, process;
} shape;

static shape cll_shape_of(const cll_thread_syscall *call) {
    const shape none = {-1, -1, -1, -1, -1};
    shape found = none;
    switch (call->number) {
    case SYS_connect: case SYS_bind:
        found.descriptor = 0;
        found.address = 1;
        break;
    case SYS_sendto:
        found.descriptor = 0;
        found.address = 4;
        break;
    case SYS_read: case SYS_write: case SYS_readv: case SYS_writev: case SYS_pread64: case SYS_pwrite64:
    case SYS_preadv: case SYS_pwritev: case SYS_preadv2: case SYS_pwritev2: case SYS_recvfrom: case SYS_recvmsg:
    case SYS_recvmmsg: case SYS_sendmsg: case SYS_sendmmsg: case SYS_accept: case SYS_accept4: case SYS_shutdown:
    case SYS_fsync: case SYS_fdatasync: case SYS_syncfs: case SYS_sync_file_range: case SYS_ftruncate: case SYS_fallocate:
    case SYS_flock: case SYS_fcntl: case SYS_ioctl: case SYS_close: case SYS_getdents64: case SYS_lseek: case SYS_fstat:
    case SYS_epoll_pwait: case SYS_epoll_pwait2: case SYS_splice: case SYS_tee: case SYS_vmsplice: case SYS_sendfile:
    case SYS_copy_file_range:
#ifdef SYS_epoll_wait
    case SYS_epoll_wait: case SYS_getdents:
#endif
        found.descriptor = 0;
        break;
    case SYS_openat: case SYS_unlinkat: case SYS_mkdirat: case SYS_renameat: case SYS_renameat2: case SYS_newfstatat:
    case SYS_statx: case SYS_readlinkat: case SYS_faccessat: case SYS_fchmodat: case SYS_linkat: case SYS_mknodat:
        found.path = 1;
        break;
    case SYS_statfs: case SYS_truncate: case SYS_execve: case SYS_chdir: case SYS_umount2: case SYS_getxattr:
#ifdef SYS_open
    case SYS_open: case SYS_stat: case SYS_lstat: case SYS_access: case SYS_unlink: case SYS_mkdir: case SYS_rmdir:
    case SYS_rename: case SYS_readlink: case SYS_creat: case SYS_link: case SYS_chmod:
#endif
        found.path = 0;
        break;
    case SYS_mount:
        found.path = 1;
        break;
    case SYS_ppoll:
#ifdef SYS_poll
    case SYS_poll:
#endif
        found.polled = 0;
        break;
    case SYS_wait4:
        found.process = 0;
        break;
    case SYS_waitid:
        // P_PIDFD (linux/wait.h): the id is a descriptor.
        if (call->arguments[0] == 3) found.descriptor = 1; else found.process = 1;
        break;
    default: break;
    }
    return found;
}

// The link shows a path, `socket:[inode]`, `pipe:[inode]`, `anon_inode:[kind]`, without accessing the file itself.
static void cll_read_link(pid_t pid, int descriptor, cll_wait *wait) {
    ssize_t length = cll_procfs_link(pid, descriptor, wait->target, sizeof(wait->target));
    wait->target_length = length > 0 ? (uint32_t)length : 0;
}

static void cll_read_path(pid_t pid, uint64_t address, cll_wait *wait) {
    size_t length = cll_memory_read(pid, address, wait->target, sizeof(wait->target));
    wait->target_length = (uint32_t)strnlen(wait->target, length);
}

// The process for which wait4 or waitid waits; -1: any child; 0: a group.
static int32_t cll_waited_process(const cll_thread_syscall *call) {
    if (call->number == SYS_waitid) {
        if (call->arguments[0] == 0) return -1;                                  // P_ALL
        return call->arguments[0] == 1 ? (int32_t)call->arguments[1] : 0;        // P_PID
    }
    int32_t process = (int32_t)call->arguments[0];
    return process >= -1 ? process : 0;
}

static void cll_read_process(int32_t process, cll_wait *wait) {
    wait->process = process;
    if (process <= 0) return;
    long length = cll_procfs_read(process, 0, "comm", wait->target, sizeof(wait->target));
    while (length > 0 && wait->target[length - 1] == '\n') length--;
    wait->target_length = length > 0 ? (uint32_t)length : 0;
}

void cll_wait_describe(pid_t pid, pid_t tid, const cll_thread_syscall *call, cll_wait *wait) {
    wait->call = *call;
    wait->descriptor = -1;
    wait->process = 0;
    wait->target_length = 0;
    wait->address_length = 0;
    long length = cll_procfs_read(pid, tid, "wchan", wait->wchan, sizeof(wait->wchan));
    // "0": it does not sleep, or the kernel does not report it.
    wait->wchan_length = length > 0 && wait->wchan[0] != '0' ? (uint32_t)length : 0;
    shape shape = cll_shape_of(call);
    if (shape.descriptor >= 0) wait->descriptor = (int32_t)call->arguments[shape.descriptor];
    if (shape.polled >= 0) {
        struct pollfd first;
        if (call->arguments[1] > 0 && cll_memory_read(pid, call->arguments[0], &first, sizeof(first)) == sizeof(first))
            wait->descriptor = first.fd;
    }
    if (wait->descriptor >= 0) cll_read_link(pid, wait->descriptor, wait);
    if (shape.path >= 0) cll_read_path(pid, call->arguments[shape.path], wait);
    if (shape.process >= 0) cll_read_process(cll_waited_process(call), wait);
    if (shape.address >= 0 && call->arguments[shape.address] != 0) {
        uint64_t size = call->arguments[shape.address + 1];
        if (size > sizeof(wait->address)) size = sizeof(wait->address);
        wait->address_length = (uint32_t)cll_memory_read(pid, call->arguments[shape.address], wait->address, size);
    }
}

uint32_t cll_wait_socket(const cll_wait *wait) {
    static const char prefix[] = "socket:[";
    const uint32_t start = sizeof(prefix) - 1;
    if (wait->target_length <= start || memcmp(wait->target, prefix, start) != 0) return 0;
    uint64_t inode = 0;
    for (uint32_t at = start; at < wait->target_length && wait->target[at] >= '0' && wait->target[at] <= '9'; at++)
        inode = inode * 10 + (uint64_t)(wait->target[at] - '0');
    return inode <= UINT32_MAX ? (uint32_t)inode : 0;
}

int64_t cll_snapshot_call(pid_t pid, const cll_snapshot *snapshot) {
    uint64_t pc = snapshot->registers[CLL_REGISTER_PC];
#if defined(__x86_64__)
    // glibc's wrappers: mov $number, %eax (b8 and four bytes), of read, whose number is 0, xor %eax, %eax (31 c0); syscall (0f 05). The result has
    // replaced the number in rax.
    uint8_t code[7];
    if (pc < sizeof(code) || cll_memory_read(pid, pc - sizeof(code), code, sizeof(code)) != sizeof(code)) return CLL_CALL_NONE;
    if (code[5] != 0x0f || code[6] != 0x05) return CLL_CALL_NONE;
    if (code[3] == 0x31 && code[4] == 0xc0) return 0;
    if (code[0] != 0xb8) return CLL_CALL_UNKNOWN;
    uint32_t number;
    memcpy(&number, code + 1, sizeof(number));
    return number;
#else
    uint32_t code;  // svc #0; the number stays in x8
    if (pc < sizeof(code) || cll_memory_read(pid, pc - sizeof(code), &code, sizeof(code)) != sizeof(code)) return CLL_CALL_NONE;
    return code == 0xd4000001u ? (int64_t)snapshot->registers[8] : CLL_CALL_NONE;
#endif
}

int cll_snapshot_is_cut(pid_t pid, const cll_snapshot *snapshot) {
#if defined(__x86_64__)
    enum { RESULT = 0, THIRD = 1, PIECE = 4096 };  // rax, rdx
#else
    enum { RESULT = 0, THIRD = 2, PIECE = 4096 };
#endif
    const int64_t result = (int64_t)snapshot->registers[RESULT];
    switch (cll_snapshot_call(pid, snapshot)) {
    case SYS_getrandom: case SYS_sendfile: case SYS_copy_file_range: case SYS_splice: case SYS_tee: case SYS_vmsplice: return 1;
    // For a device, page by page. Sockets and pipes return what is available, files less at their end.
    case SYS_read: case SYS_pread64: return result > 0 && (uint64_t)result < snapshot->registers[THIRD] && result % PIECE == 0;
    default: return 0;
    }
}
