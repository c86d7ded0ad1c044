/// When a loop that stands still counts as stalled: N consecutive timeouts of one interval.
package struct DetectionRule: Sendable, Equatable {
    /// Length of one wait; above zero.
    package let intervalNanoseconds: UInt64
    /// Timeouts in a row that make a stall; above zero.
    package let timeouts: Int
    /// After a reported stall, further ones are counted but not reported for so long; 0: every stall is reported.
    package let restoreNanoseconds: UInt64
    /// A stall that lasts so long is told while it lasts; 0: at detection.
    package let hangNanoseconds: UInt64

    package init(
        intervalNanoseconds: UInt64,
        timeouts: Int,
        restoreNanoseconds: UInt64 = 0,
        hangNanoseconds: UInt64 = 5_000_000_000
    ) {
        precondition(intervalNanoseconds > 0 && timeouts > 0, "a rule of \(timeouts) times \(intervalNanoseconds) ns")
        self.intervalNanoseconds = intervalNanoseconds
        self.timeouts = timeouts
        self.restoreNanoseconds = restoreNanoseconds
        self.hangNanoseconds = hangNanoseconds
    }

    /// Interval times timeouts: from what duration on it is a stall.
    package var thresholdNanoseconds: UInt64 {
        let (product, overflow) = intervalNanoseconds.multipliedReportingOverflow(by: UInt64(timeouts))
        return overflow ? .max : product
    }

    /// The next common tick after `now`; `.max` where 64 bits end. All loops with one interval share their ticks, so that
    /// a thousand loops cost one wake an interval, not a thousand.
    package func nextTick(after now: UInt64) -> UInt64 { Self.nextTick(after: now, intervalNanoseconds: intervalNanoseconds) }

    static func nextTick(after now: UInt64, intervalNanoseconds interval: UInt64) -> UInt64 {
        (now - now % interval).saturatingSum(interval)
    }
}

extension UInt64 {
    /// The sum, or `.max` where it does not fit: a time that far ahead never comes.
    func saturatingSum(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}
