/// When a loop that stands still counts as stalled: N consecutive timeouts of one interval.
package struct DetectionRule: Sendable, Equatable {
    /// Length of one wait.
    package let intervalNanoseconds: UInt64
    /// Timeouts in a row that make a stall.
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
        self.intervalNanoseconds = intervalNanoseconds
        self.timeouts = timeouts
        self.restoreNanoseconds = restoreNanoseconds
        self.hangNanoseconds = hangNanoseconds
    }

    /// Interval times timeouts: from what duration on it is a stall.
    package var thresholdNanoseconds: UInt64 { intervalNanoseconds * UInt64(timeouts) }

    /// The next common tick after `now`. All loops with one interval share their ticks, so that a thousand loops cost
    /// one wake an interval, not a thousand.
    package func nextTick(after now: UInt64) -> UInt64 { (now / intervalNanoseconds + 1) * intervalNanoseconds }
}
