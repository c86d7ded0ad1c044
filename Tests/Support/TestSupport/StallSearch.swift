import Glibc
import LagMonitor
import Synchronization

/// Lets a real stall last until a monitor has found it and has its stack: `repeat { block() } while !search.isOver`.
///
/// For stalls that are found only by samples or pings: a watchdog that gets no processor for as long as such a stall lasts cannot
/// know of it afterwards, so no fixed length is enough on a busy machine. (Run loops publish the time of their work.)
public final class StallSearch: Sendable {
    private let monitor: StallMonitor
    private let wanted: UInt64
    private let begin = MonotonicTime.now
    /// 0: not found yet.
    private let foundNanoseconds = Atomic<UInt64>(0)

    /// Begins before the stall.
    /// - Parameter count: how many stalls are made at the same time.
    public init(_ monitor: StallMonitor, count: UInt64 = 1) {
        self.monitor = monitor
        wanted = monitor.statistics.stalls + count
    }

    public var isOver: Bool { monitor.statistics.stalls >= wanted || isPastLimit }

    /// Whether it has also lasted as long again since then: the watchdog, which was that slow to find it, has sampled it again.
    public var isSampled: Bool {
        guard isOver, !isPastLimit else { return isPastLimit }
        let now = MonotonicTime.now.nanoseconds
        // Another thread may have stored a later time since.
        let (_, found) = foundNanoseconds.compareExchange(expected: 0, desired: now, ordering: .relaxed)
        return found != 0 && now >= found && now - found >= found - begin.nanoseconds
    }

    /// Sleeps until ``isSampled``.
    public func hold() { while !isSampled { usleep(5000) } }

    /// Only protects against a hang.
    private var isPastLimit: Bool { MonotonicTime.now > begin + .seconds(60) }
}
