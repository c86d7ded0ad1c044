/// Decides whether a wait of the watchdog ended when it should have, and what a late one means.
///
/// A watchdog that wakes late knows nothing about what the loop could have done meanwhile, if the process was stopped as
/// a whole: such a wait is no timeout, and its time belongs to no loop.
///
/// Where only the watchdog had to wait for a processor, its run-queue delay accounts for the lateness
/// (`/proc/<pid>/task/<tid>/schedstat`, second number). Then the loop did stand still all the time, and the wait counts:
/// a busy machine hides no stall.
package struct LatenessGuard: Sendable {
    /// What explains a late wait; read only when it matters.
    package struct Evidence: Sendable {
        /// For how much of the wait the watchdog was ready to run but did not, or was at work itself.
        package var runDelayNanoseconds: UInt64
        /// For how much of it the process's control group was not allowed to run, by its quota. A thread that is throttled counts as
        /// ready to run, so this is part of the run delay.
        package var throttledNanoseconds: UInt64

        package init(runDelayNanoseconds: UInt64 = 0, throttledNanoseconds: UInt64 = 0) {
            self.runDelayNanoseconds = runDelayNanoseconds
            self.throttledNanoseconds = throttledNanoseconds
        }
    }

    /// No wait is late by less, however short it was: timers and virtual machines are not that exact.
    private static let leastToleranceNanoseconds: UInt64 = 5_000_000
    /// Half the default interval: a wait that ends later is late, however long it was.
    private static let mostToleranceNanoseconds: UInt64 = 25_000_000

    /// How often the process was found to have been stopped.
    package private(set) var processPauses: UInt64 = 0
    /// For how long at least.
    package private(set) var pausedNanoseconds: UInt64 = 0
    /// How much of that was a quota's.
    package private(set) var throttledNanoseconds: UInt64 = 0

    package init() {}

    /// Evaluates a wait that ended.
    /// - Parameters:
    ///   - begun: when it began. A deadline that was past then does not make it late.
    ///   - due: when it was to end; `.max` for a wait without end, which cannot be late.
    /// - Returns: nil when it was on time, or late for a reason of the watchdog's own.
    package mutating func evaluate(from begun: UInt64, due: UInt64, endedAt now: UInt64, evidence: () -> Evidence)
        -> ProcessPause?
    {
        let due = max(begun, due)
        // What a late short wait loses is little, so less is needed to call it late.
        let tolerance = min(max((due - begun) / 2, Self.leastToleranceNanoseconds), Self.mostToleranceNanoseconds)
        let late = now.saturatingDifference(due)
        guard late > tolerance else { return nil }
        let evidence = evidence()
        let throttled = min(evidence.throttledNanoseconds, late)
        let explained = min(evidence.runDelayNanoseconds.saturatingDifference(throttled), late)
        guard late - explained > tolerance else { return nil }
        let processPause = ProcessPause(from: begun, to: now, atLeast: late - explained, atMost: now - begun - explained)
        processPauses += 1
        pausedNanoseconds = pausedNanoseconds.saturatingSum(processPause.atLeast)
        throttledNanoseconds = throttledNanoseconds.saturatingSum(min(throttled, processPause.atLeast))
        return processPause
    }
}
