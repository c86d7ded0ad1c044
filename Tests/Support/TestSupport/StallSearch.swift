import LagMonitor

/// Lets a real stall last until a monitor has found it and has its stack: `repeat { block() } while !search.isOver`.
///
/// For stalls that are found only by samples or pings: a watchdog that gets no processor for as long as such a stall lasts cannot
/// know of it afterwards, so no fixed length is enough on a busy machine. (Run loops publish the time of their work.)
public struct StallSearch: Sendable {
    private let monitor: StallMonitor
    private let wanted: UInt64
    /// Only protects against a hang.
    private let deadline = MonotonicTime.now + .seconds(60)

    /// Begins before the stall.
    /// - Parameter count: how many stalls are made at the same time.
    public init(_ monitor: StallMonitor, count: UInt64 = 1) {
        self.monitor = monitor
        wanted = monitor.statistics.stalls + count
    }

    public var isOver: Bool { monitor.statistics.stalls >= wanted || MonotonicTime.now > deadline }
}
