/// Records were lost: what is told about it, in one line with `event` `dropped`.
public struct DropNotice: Sendable, Equatable {
    /// Where records were lost.
    public enum Reason: String, Sendable, CaseIterable {
        /// The queue to the reporter was full.
        case queueFull = "queue_full"
        /// The sink reported an error: no space, no permission.
        case sinkFailed = "sink_failed"
        /// The sink's reader was too slow, up to the deadline.
        case sinkSlow = "sink_slow"
        /// A file of stalls in progress, left by a process that died, was damaged or too old: what it held is not known.
        case unfinishedRefused = "unfinished_refused"
    }

    /// How many, since the last notice of this reason.
    public var count: UInt64
    public var reason: Reason
    /// `time` of the notice: wall clock, nanoseconds since 1970.
    public var realtimeNanoseconds: Int64
    /// `mono_us` of the notice, in nanoseconds here.
    public var monotonicNanoseconds: UInt64
    /// `dropped_total`: in all, in this process.
    public var total: UInt64

    public init(
        count: UInt64,
        reason: Reason,
        realtimeNanoseconds: Int64,
        monotonicNanoseconds: UInt64,
        total: UInt64
    ) {
        self.count = count
        self.reason = reason
        self.realtimeNanoseconds = realtimeNanoseconds
        self.monotonicNanoseconds = monotonicNanoseconds
        self.total = total
    }
}
