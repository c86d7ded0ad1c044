internal import LagModel

/// What counts as a stall of one loop: the rules and their thresholds, and what is reported.
package struct WatchRules: Sendable, Equatable {
    /// Ticks at a fixed rate; this many missed ticks in a row are a stall.
    package struct Frame: Sendable, Equatable {
        /// Above zero.
        package let periodNanoseconds: UInt64
        /// Above zero.
        package let missed: Int

        package init(periodNanoseconds: UInt64, missed: Int) {
            precondition(periodNanoseconds > 0 && missed > 0, "\(missed) missed ticks of \(periodNanoseconds) ns")
            self.periodNanoseconds = periodNanoseconds
            self.missed = missed
        }
    }

    /// Samples of the stack; this many in a row with the same functions on top are a stall.
    package struct Sampling: Sendable, Equatable {
        /// Above zero.
        package let intervalNanoseconds: UInt64
        /// Above one.
        package let samples: Int
        /// How many functions, from the leaf on, must be the same; 1 to ``SampleKey/maximumFunctions``.
        package let functions: Int

        package init(intervalNanoseconds: UInt64, samples: Int, functions: Int) {
            precondition(intervalNanoseconds > 0 && samples > 1 && functions > 0, "\(samples) samples, \(functions) functions")
            self.intervalNanoseconds = intervalNanoseconds
            self.samples = samples
            self.functions = functions
        }
    }

    package var callout: TimeoutRule?
    package var starvationNanoseconds: UInt64?
    package var pingWhileWaiting: TimeoutRule?
    /// A ping every interval, regardless of what the loop publishes.
    package var ping: TimeoutRule?
    package var frame: Frame?
    package var sampling: Sampling?

    /// For this long after a reported stall, further ones are counted but not reported; 0: every stall is reported.
    package var restoreNanoseconds: UInt64 = 0
    /// A stall that lasts this long is reported while it lasts; 0: at detection.
    package var hangNanoseconds: UInt64 = 5_000_000_000
    /// Whether the reporter is informed about a stall as soon as it is found.
    package var reportsOpened = false
    /// For this long after the watch began, nothing counts.
    package var graceNanoseconds: UInt64 = 0

    package init(callout: TimeoutRule? = nil) { self.callout = callout }

    /// How often a working loop is observed: the callout rule's interval, or a third of the shortest threshold.
    var tickNanoseconds: UInt64 {
        if let callout { return callout.intervalNanoseconds }
        // Without an array: the watchdog calls this, too.
        var least: UInt64 = 3_000_000_000
        if let starvationNanoseconds { least = min(least, starvationNanoseconds) }
        if let pingWhileWaiting { least = min(least, pingWhileWaiting.thresholdNanoseconds) }
        if let ping { least = min(least, ping.thresholdNanoseconds) }
        if let frame { least = min(least, frame.periodNanoseconds.saturatingProduct(UInt64(frame.missed))) }
        if let sampling { least = min(least, sampling.intervalNanoseconds.saturatingProduct(UInt64(sampling.samples))) }
        return max(1_000_000, least / 3)
    }

    /// Whether a fast poll is enough for a loop that works and moves on: all other needs have times of their own.
    var allowsFastPoll: Bool {
        pingWhileWaiting == nil && ping == nil && frame == nil && sampling == nil && (callout.map { $0.timeouts > 1 } ?? true)
    }
}
