/// Tells whether a wait of the watchdog ended when it should have.
///
/// A watchdog that wakes late knows nothing about what the loop could have done meanwhile, if the process was stopped as
/// a whole (SIGSTOP, a debugger, a frozen container): such a wait is no timeout, and its time is nobody's.
///
/// Where only the watchdog had to wait for a processor, its run-queue delay accounts for the lateness
/// (`/proc/<pid>/task/<tid>/schedstat`, second number). Then the loop did stand still all the time, and the wait counts:
/// a busy machine hides no stall.
package struct LatenessGuard: Sendable {
    /// Later than this is late.
    package let toleranceNanoseconds: UInt64
    /// How often it was late.
    package private(set) var lateCount: UInt64 = 0

    package init(toleranceNanoseconds: UInt64) { self.toleranceNanoseconds = toleranceNanoseconds }

    /// Judges a wait that ended.
    /// - Parameters:
    ///   - begun: when it began. A deadline that was past then does not make it late.
    ///   - expected: when it was to end; `.max` for a wait without end, which cannot be late.
    ///   - runDelay: for how much of it the watchdog was ready to run but did not; asked only when that matters.
    /// - Returns: 0 when it was on time; else its whole length, because nobody knows how much of it the stop took.
    package mutating func lost(
        from begun: UInt64,
        until expected: UInt64,
        endedAt now: UInt64,
        runDelay: () -> UInt64
    ) -> UInt64 {
        let due = max(begun, expected)
        guard now > due, now - due > toleranceNanoseconds else { return 0 }
        guard now - due > toleranceNanoseconds.saturatingSum(runDelay()) else { return 0 }
        lateCount += 1
        return now - begun
    }
}
