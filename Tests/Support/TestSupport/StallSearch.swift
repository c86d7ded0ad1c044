import LagMonitor

/// Lets a real stall last until a monitor has found it and has its stack: `repeat { block() } while !search.isOver`.
///
/// For stalls that are found only by samples or pings: a watchdog that gets no processor for as long as such a stall lasts cannot
/// know of it afterwards, so no fixed length is enough on a busy machine. (Run loops publish the time of their work.)
public struct StallSearch: Sendable {
    private let monitor: StallMonitor
    private let found: UInt64
    /// Only protects against a hang.
    private let deadline = MonotonicTime.now + .seconds(60)

    /// Begins before the stall.
    public init(_ monitor: StallMonitor) {
        self.monitor = monitor
        found = monitor.statistics.stalls
    }

    public var isOver: Bool { monitor.statistics.stalls > found || MonotonicTime.now > deadline }
}
