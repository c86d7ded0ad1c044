internal import Synchronization

/// The time that the quotas of one process's control groups have taken. It follows a process that is moved to other groups.
///
/// Threads: ``read(at:)`` and ``count(_:)`` are for the watchdog, ``confirm()`` for the reporter, ``throttledNanoseconds`` for
/// any. Neither waits for the other: the second caller gets nil.
// Unchecked: only the thread that has set `isTaken`, which orders memory, accesses `meter` and `groups`; `membership` is the
// reporter's; the rest is immutable or atomic.
package final class ThrottleSource: @unchecked Sendable {
    private let process: Int32?
    private let root: String
    private let isTaken = Atomic<Bool>(false)
    private let counted = Atomic<UInt64>(0)
    private var meter: ThrottleMeter?
    private var groups: UInt64 = 0
    private var membership: String?

    /// Finds the groups. Allocates; about a millisecond.
    /// - Parameters:
    ///   - process: the process of the groups; nil: this one.
    ///   - root: the folder in which `/proc` and the mount points are found; for tests.
    package init(process: Int32? = nil, root: String = "") {
        self.process = process
        self.root = root
        membership = ThrottleMeter.membership(of: process, root: root)
        meter = ThrottleMeter(root: root, process: process)
    }

    /// Reads the kernel's counters: mostly one file, some 5 µs. No lock, no allocation.
    /// - Returns: nil if the groups cannot be seen, or new ones are being taken over.
    package func read(at time: UInt64) -> ThrottleReading? {
        guard !isTaken.exchange(true, ordering: .acquiring) else { return nil }
        defer { isTaken.store(false, ordering: .releasing) }
        guard let meter, let throttled = meter.read() else { return nil }
        return ThrottleReading(time: time, throttledNanoseconds: throttled, groups: groups)
    }

    /// Whether the process is still in the groups that were read. If not, later readings are of its present groups.
    ///
    /// Reporter only: for this, the kernel takes the lock of all control groups.
    package func confirm() -> Bool {
        // A process that is gone was in them to its end.
        guard let present = ThrottleMeter.membership(of: process, root: root), present != membership else { return true }
        var found = ThrottleMeter(root: root, process: process)
        guard !isTaken.exchange(true, ordering: .acquiring) else { return false }
        swap(&meter, &found)
        groups &+= 1
        isTaken.store(false, ordering: .releasing)
        membership = present
        return false
    }

    /// Adds to the time known to have been taken.
    func count(_ nanoseconds: UInt64) { counted.add(nanoseconds, ordering: .relaxed) }

    /// The time taken so far, as far as it was read.
    package var throttledNanoseconds: UInt64 { counted.load(ordering: .relaxed) }
}
