/// What a run of the target leaves behind: its own readings, and what the detectors said. All times are `CLOCK_MONOTONIC`
/// in nanoseconds.
struct TargetReport: Codable, Sendable {
    /// A stall that was injected, as the callout that stalls read the clock.
    struct Injected: Codable, Sendable {
        let kind: String
        let place: Place
        /// The loop's own reading before the callout.
        var before: UInt64
        /// First and last reading in the callout; of a starvation, in the first and the last of its callouts.
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
        /// How much of it is for certain: without any pass by the sleep, however short.
        let certain: UInt64
        /// How much of it long single callouts took; a rule for many short ones need not count it.
        let inLongCallouts: UInt64
    }

    /// A stall as the monitor reported it.
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
    /// The rule as seed 000 has it.
    var semaphoreWatchdog: [SemaphoreWatchdogReport] = []
    /// The same with `beforeWaiting` counted as work, as seed 002 tried it first.
    var semaphoreWatchdogBeforeWaiting: [SemaphoreWatchdogReport] = []
    var monitorWakes: UInt64 = 0
    var semaphoreWatchdogWakes: UInt64 = 0
    /// For the busy condition.
    var callbacks = 0
    var clockSteps = 0
    var nanoseconds: UInt64 = 0
    /// How long the loop's thread and the watchdog waited for a processor: durations cannot be more exact than that.
    var runDelayNanoseconds: UInt64 = 0
    /// Records that did not reach us; must be zero for the rest to mean anything.
    var lost: UInt64 = 0
}
