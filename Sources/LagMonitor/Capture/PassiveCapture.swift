internal import CLagLinux
internal import Glibc
internal import LagActivity

/// Captures a sleeping thread's registers and stack without its noticing.
///
/// `/proc/<pid>/task/<tid>/syscall` (proc(5)) shows a blocked thread's system call, its arguments, its stack pointer and its
/// program counter. No signal is sent, so no wait is interrupted. It also works for threads in `D` state, where a signal never
/// arrives.
///
/// A sleeping thread can wake while its stack is copied. As long as it stays in the kernel, in one wait or in several, its stack
/// cannot change. So the file is read again afterwards, the stack is copied a second time, and the copy is accepted only if both
/// are the same as before.
struct PassiveCapture {
    enum Result {
        case taken(cll_thread_syscall)
        case running
        case moved
        case gone
        case refused
        case noDescriptor
    }

    let snapshot: Snapshot
    /// Space for the second copy.
    let check: Snapshot

    /// - Parameter copyMore: copies other data that must not have changed, between the first copy of the stack and the second.
    func take(_ target: ThreadIdentity, copyMore: () -> Void = {}) -> Result {
        var first = cll_thread_syscall()
        switch cll_procfs_syscall(target.process, target.tid, &first) {
        case Int32(CLL_SYSCALL_BLOCKED): break
        case Int32(CLL_SYSCALL_RUNNING): return .running
        // A kernel without that file gives the same error for a live thread.
        case -ESRCH: return cll_thread_is_live(target.process, target.tid) != 0 ? .refused : .gone
        case -EMFILE, -ENFILE: return .noDescriptor
        default: return .refused
        }
        fill(snapshot, target, first)
        copyMore()
        var second = cll_thread_syscall()
        guard cll_procfs_syscall(target.process, target.tid, &second) == Int32(CLL_SYSCALL_BLOCKED),
            second.canBeSameWait(as: first)
        else { return .moved }
        fill(check, target, second)
        guard snapshot.holdsSameStack(as: check) else { return .moved }
        return .taken(first)
    }

    private func fill(_ snapshot: Snapshot, _ target: ThreadIdentity, _ thread: cll_thread_syscall) {
        let raw = snapshot.raw
        cll_snapshot_of_syscall(raw, thread)
        let begin = thread.sp &- UInt64(CLL_RED_ZONE)
        // Outside the thread's own stack, it is on an alternate stack of unknown size: as much as can be read is copied.
        let own = begin >= target.stackLow && begin < target.stackHigh
        let length = own ? min(target.stackHigh - begin, UInt64(Snapshot.stackCapacity)) : UInt64(Snapshot.stackCapacity)
        raw.pointee.stack_begin = begin
        raw.pointee.stack_high = own ? target.stackHigh : 0
        raw.pointee.stack_length = UInt64(
            cll_memory_read_stack(target.process, begin, raw.pointee.stack, Int(length), own ? 1 : 0)
        )
    }
}

extension cll_thread_syscall {
    /// Whether the thread can have stayed in the kernel between two readings: its registers cannot change there. (With the same
    /// stack it may still wait for something else: what it waits for may only be in a register.)
    func canBeSameWait(as earlier: Self) -> Bool {
        sp == earlier.sp && pc == earlier.pc && number == earlier.number && arguments == earlier.arguments
    }
}
