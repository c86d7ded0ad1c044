internal import LagModel

/// The last two readings of the quotas' time: one of them was made before the beginning of any stall that is found later.
package struct ThrottleHistory: Sendable, Equatable {
    package private(set) var previous: ThrottleReading?
    package private(set) var latest: ThrottleReading?

    /// A reading made this soon after a stall began has missed nothing of it: a loop that wakes is scanned at once.
    private static let besideNanoseconds: UInt64 = 1_000_000

    package init() {}

    /// - Returns: the growth since the reading before; at most the time since then, however many processors are added up.
    package mutating func add(_ reading: ThrottleReading) -> UInt64 {
        let before = latest
        previous = before
        latest = reading
        guard let before, let growth = reading.growth(since: before) else { return 0 }
        return min(growth, reading.time.saturatingDifference(before.time))
    }

    /// What quotas took from `begun` to a later reading, at most; nil if it is not known.
    package func growth(since begun: UInt64, to reading: ThrottleReading) -> UInt64? {
        guard let latest else { return nil }
        let isTooLate = latest.time > begun.saturatingSum(Self.besideNanoseconds)
        return reading.growth(since: isTooLate ? previous ?? latest : latest)
    }
}
