internal import LagModel

/// N consecutive timeouts of one interval: the rule of the observer-and-semaphore watchdog.
package struct TimeoutRule: Sendable, Equatable {
    /// Length of one wait; above zero.
    package let intervalNanoseconds: UInt64
    /// Timeouts in a row that make a stall; above zero.
    package let timeouts: Int

    package init(intervalNanoseconds: UInt64, timeouts: Int) {
        precondition(intervalNanoseconds > 0 && timeouts > 0, "a rule of \(timeouts) times \(intervalNanoseconds) ns")
        self.intervalNanoseconds = intervalNanoseconds
        self.timeouts = timeouts
    }

    /// Interval times timeouts: the duration from which it is a stall.
    package var thresholdNanoseconds: UInt64 {
        intervalNanoseconds.saturatingProduct(UInt64(timeouts))
    }
}
