internal import LagModel

/// Finds suspensions of the machine and steps of the wall clock by comparing successive readings of the clocks.
///
/// - A suspension makes `CLOCK_BOOTTIME` grow more than `CLOCK_MONOTONIC`; nothing else does.
/// - A step changes `CLOCK_REALTIME` relative to `CLOCK_BOOTTIME`. The difference to `CLOCK_MONOTONIC` cannot be used: it also
///   grows with every suspension. The kernel keeps the former constant by adding the same sleep to both
///   (`timekeeping_inject_sleeptime`).
///
/// Slewing (`adjtime`, NTP, at most 500 ppm) is not a step and cannot become one on Linux, because the three clocks share one
/// rate. A sandbox that emulates the clocks may calibrate them differently; therefore a part of the tolerance grows with the time
/// elapsed. It stops growing at ``maximumSlewNanoseconds``: a watch that is read once a day should still find a step of a second.
///
/// Pure: the time comes from the caller. No allocation, no lock; one thread at a time.
package struct ClockWatch: Sendable {
    /// What happened between two successive readings, in nanoseconds; both 0 if nothing did.
    package struct Change: Sendable, Equatable {
        package var suspendedNanoseconds: UInt64 = 0
        /// How far the wall clock was set: positive is forward.
        package var clockStepNanoseconds: Int64 = 0

        package static let none = Change()
    }

    /// Less than this is noise: no machine suspends and resumes within a millisecond, and no step below it matters.
    package static let toleranceNanoseconds: UInt64 = 1_000_000
    /// The greatest rate at which the kernel slews a clock (`adjtimex(2)`, `MAX_TICKADJ`): a 2,000th.
    static let slewDivisor: UInt64 = 2_000
    /// The maximum tolerance for slewing, reached after 200 s without a reading.
    static let maximumSlewNanoseconds: UInt64 = 100_000_000

    /// How often the machine was suspended between two readings.
    package private(set) var suspensionCount: UInt64 = 0
    /// The total time.
    package private(set) var suspendedNanoseconds: UInt64 = 0
    /// How often the wall clock was set.
    package private(set) var stepCount: UInt64 = 0
    /// The total of all steps, in either direction: a step forward and one back do not cancel out.
    package private(set) var steppedNanoseconds: UInt64 = 0

    private var last: ClockReadings

    /// - Parameter first: what later readings are compared with.
    package init(since first: ClockReadings) { last = first }

    /// Compares with the previous reading, counts what it finds, and keeps the new reading for the next call.
    package mutating func advance(to now: ClockReadings) -> Change {
        let uncertain = last.spread.saturatingSum(now.spread)
        let slept = now.sleepOffset &- last.sleepOffset
        let stepped = now.wallOffset &- last.wallOffset
        let elapsed = now.boottime.saturatingDifference(last.boottime)
        last = now

        var change = Change.none
        let tolerance = Self.toleranceNanoseconds.saturatingSum(uncertain)
        if slept > 0, slept.magnitude > tolerance {
            change.suspendedNanoseconds = slept.magnitude
            suspensionCount += 1
            suspendedNanoseconds = suspendedNanoseconds.saturatingSum(slept.magnitude)
        }
        let slew = min(elapsed / Self.slewDivisor, Self.maximumSlewNanoseconds)
        if stepped.magnitude > tolerance.saturatingSum(slew) {
            change.clockStepNanoseconds = stepped
            stepCount += 1
            steppedNanoseconds = steppedNanoseconds.saturatingSum(stepped.magnitude)
        }
        return change
    }
}

extension ClockReadings {
    /// How long the machine has been suspended since it booted (a time namespace adds a constant).
    fileprivate var sleepOffset: Int64 { Int64(truncatingIfNeeded: boottime &- monotonic) }
    /// What the wall clock showed when the machine booted.
    fileprivate var wallOffset: Int64 { realtime &- Int64(truncatingIfNeeded: boottime) }
}
