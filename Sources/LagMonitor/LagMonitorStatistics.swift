/// What a monitor has seen and told so far. Counters that never go back while it exists.
public struct LagMonitorStatistics: Sendable, Equatable {
    /// Stalls found.
    public var stalls: UInt64 = 0
    /// Records that every sink has taken (a hang has two: `begin` and `end`).
    public var reported: UInt64 = 0
    /// Records that got lost: no memory prepared for so many at once, or a sink did not take them.
    public var dropped: UInt64 = 0
    /// Stalls held back on purpose, by a restore interval.
    public var suppressed: UInt64 = 0

    public init() {}
}
