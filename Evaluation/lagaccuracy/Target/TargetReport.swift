/// The results of a run of the target: its own readings, and the detectors' reports. All times are `CLOCK_MONOTONIC`
/// in nanoseconds.
struct TargetReport: Codable, Sendable {
    /// An injected stall, with the clock readings of its callout.
    struct Injected: Codable, Sendable {
        let kind: String
        let place: Place
        /// The loop's own reading before the callout.
        var before: UInt64
        /// The first and last reading in the callout; for a starvation, in its first and its last callout.
        var begin: UInt64
        var end: UInt64
        /// The loop's own reading after the callout.
        var after: UInt64

        var isStarvation: Bool { kind == "starve" }
    }

    /// A long time between two readings of the working loop, outside injected stalls.
    struct Gap: Codable, Sendable {
        let begin: UInt64
        let end: UInt64
    }

    /// A long time in which the loop did not sleep, outside injected stalls.
    struct AwakePeriod: Codable, Sendable {
        let begin: UInt64
        let end: UInt64
        /// The longest part that is certainly without sleep, in which the loop did not wait even for a short time.
        let certain: UInt64
        /// The part in long single callouts, which a rule for many short callouts need not count.
        let inLongCallouts: UInt64
    }

    /// A stall that the monitor reported.
    struct MonitorReport: Codable, Sendable {
        var isStarvation: Bool
        var start: UInt64
        var duration: UInt64
        /// Time between start and end that is not in the duration, because the process could not run.
        var excluded: UInt64 = 0
        var detected: UInt64
        /// If the monitor does not know the duration exactly: its bounds.
        var bounds: ClosedRange<UInt64>?
        /// Lines beyond `begin` and `end` under the same id.
        var extraLines = 0
    }

    /// One report of the observer-and-semaphore watchdog.
    struct SemaphoreWatchdogReport: Codable, Sendable {
        let time: UInt64
        /// Equal for reports between which the loop did not signal.
        let run: UInt64
    }

    var injected: [Injected] = []
    var gaps: [Gap] = []
    var awakePeriods: [AwakePeriod] = []
    var monitorReports: [MonitorReport] = []
    /// The reports of the original rule.
    var semaphoreWatchdog: [SemaphoreWatchdogReport] = []
    /// The reports of the rule that also counts `beforeWaiting` as work.
    var semaphoreWatchdogBeforeWaiting: [SemaphoreWatchdogReport] = []
    var monitorWakes: UInt64 = 0
    var semaphoreWatchdogWakes: UInt64 = 0
    /// Only in the busy condition.
    var callbacks = 0
    var clockSteps = 0
    var nanoseconds: UInt64 = 0
    /// How long the loop's thread and the watchdog waited for a processor, which limits the accuracy of durations.
    var runDelayNanoseconds: UInt64 = 0
    /// The number of lost records; must be zero, because otherwise the results are not valid.
    var lost: UInt64 = 0
}
