internal import CLagLinux
internal import CLagRemote
internal import Glibc
internal import LagModel
internal import Synchronization

/// One process by its pidfd, so that another one with a reused process ID is not confused with it. Closed with the last
/// reference. Any thread.
final class ProcessHandle: Sendable {
    let pid: Int32
    /// Negative: an errno; then the process cannot be queried through it.
    let descriptor: Int32
    let end: EndRequest
    /// 0: not known.
    private let startTicks: UInt64
    /// The signals that it handled when its last lasting work was found: bit n-1 is signal n.
    private let handled = Atomic<UInt64>(0)
    /// Signals by which it is asked to end. (SIGINT is the user's, perhaps because it was stuck, and CPython's handler of it ends
    /// by the same signal.)
    private static let ends: Set<Int32> = [SIGHUP, SIGTERM]

    init(_ pid: Int32, end: EndRequest = EndRequest()) {
        self.pid = pid
        self.end = end
        let opened = clr_pidfd_open(pid)
        descriptor = opened >= 0 ? opened : -errno
        var ticks: UInt64 = 0
        startTicks = cll_procfs_start_ticks(pid, &ticks) == 0 ? ticks : 0
    }

    /// Whether the process is known to run. One system call.
    var isAlive: Bool {
        guard descriptor >= 0 else { return false }
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // A pidfd is readable when its process has exited (pidfd_open(2)).
        return poll(&entry, 1, 0) == 0
    }

    /// Call it when its loop has been at work for long. Reads a file of `/proc`.
    func recordHandledSignals() {
        var status = cll_thread_status()
        guard cll_procfs_status(pid, pid, &status) == 0 else { return }
        handled.store(status.caught_signals, ordering: .relaxed)
    }

    /// Whether the process has ended by itself: it has exited, or was killed by a signal that it handled, and that asks it to end. A
    /// handled signal kills only if its process wants that: many programs clean up in their handler, and then end by the same signal.
    /// (But if it has been stalled since long before, it may have been asked to because it was stuck.)
    /// False if it runs, or if the kernel does not report it: before Linux 6.15, once it was waited for. Some system calls, two files
    /// of `/proc`.
    /// - Parameter begin: when its last stall began.
    func hasExited(since begin: UInt64, at now: UInt64) -> Bool {
        guard !isAlive else { return false }
        var status: Int32 = 0
        // The descriptor has the status once the process was waited for, which may happen while `/proc` is read.
        let isKnown =
            clr_pidfd_exit_status(descriptor, &status) != 0 || cll_procfs_exit_status(pid, &status) != 0 && hasItsNumber
            || clr_pidfd_exit_status(descriptor, &status) != 0
        // The signal is in the lower bits (wait(2)).
        let signal = status & 0x7f
        guard isKnown, signal != 0 else { return isKnown }
        let isHandled = Self.ends.contains(signal) && handled.load(ordering: .relaxed) >> UInt64(signal - 1) & 1 == 1
        return isHandled && now < begin.saturatingSum(EndRequest.endingNanoseconds)
    }

    /// Whether the process, perhaps not waited for yet, still has its number: only then is what was read by the number its own.
    private var hasItsNumber: Bool {
        var ticks: UInt64 = 0
        return startTicks != 0 && cll_procfs_start_ticks(pid, &ticks) == 0 && ticks == startTicks
    }

    deinit { if descriptor >= 0 { close(descriptor) } }
}
