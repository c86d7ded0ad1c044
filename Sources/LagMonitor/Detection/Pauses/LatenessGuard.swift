internal import LagModel

/// Decides whether a wait of the watchdog ended when it should have, and what a late one means.
///
/// If the process was stopped as a whole, a watchdog that wakes late does not know what the loop could have done meanwhile: such
/// a wait is not a timeout, and its time belongs to no loop.
///
/// If only the watchdog had to wait for a processor, its run-queue delay accounts for the lateness
/// (`/proc/<pid>/task/<tid>/schedstat`, second number). Then the loop really made no progress, and the wait counts: a busy
/// machine hides no stall. Nor does a quota of the process's control group: a throttled thread counts as ready to run, the
/// watchdog's as well as the loop's. Nor does a busy host of a virtual machine: if most of the lateness may be stolen time
/// (``StealMeter``), it is not the process's.
package struct LatenessGuard: Sendable {
    /// What explains a late wait; read only when it matters.
    package struct Evidence: Sendable {
        /// How much of the wait the watchdog was ready to run but did not run, or was working itself.
        package var runDelayNanoseconds: UInt64
        /// How long a hypervisor used processors of this machine meanwhile, and how much more it may have been than was counted.
        /// It is not known whether the watchdog was affected.
        package var stolenNanoseconds: UInt64
        package var uncountedStolenNanoseconds: UInt64
        /// Whether the thread went to sleep more often than it had waits: it was stopped, frozen, or held by a debugger. The
        /// kernel may count that as run-queue delay (Linux 6.18 keeps a thread that goes to sleep on the run queue for a while).
        package var sleptAgain: Bool

        package init(
            runDelayNanoseconds: UInt64 = 0,
            stolenNanoseconds: UInt64 = 0,
            uncountedStolenNanoseconds: UInt64 = 0,
            sleptAgain: Bool = false
        ) {
            self.runDelayNanoseconds = runDelayNanoseconds
            self.stolenNanoseconds = stolenNanoseconds
            self.uncountedStolenNanoseconds = uncountedStolenNanoseconds
            self.sleptAgain = sleptAgain
        }
    }

    /// A smaller lateness never counts, however short the wait was: timers and virtual machines are not that exact.
    private static let leastToleranceNanoseconds: UInt64 = 5_000_000
    /// Half the default interval: a wait that ends later than this is late, however long it was.
    static let mostToleranceNanoseconds: UInt64 = 25_000_000

    /// How often the process was found to have been stopped.
    package private(set) var processPauses: UInt64 = 0
    /// For how long, at least.
    package private(set) var pausedNanoseconds: UInt64 = 0

    package init() {}

    /// Evaluates a wait that ended.
    /// - Parameters:
    ///   - begun: when it began. A deadline before that does not make it late.
    ///   - due: when it was to end; `.max` for a wait without a deadline, which cannot be late.
    /// - Returns: nil if it was on time, or late for a reason of the watchdog's own.
    package mutating func evaluate(from begun: UInt64, due: UInt64, endedAt now: UInt64, evidence: () -> Evidence)
        -> ProcessPause?
    {
        let due = max(begun, due)
        // A short wait that is late loses little, so a smaller lateness counts.
        let tolerance = min(max((due - begun) / 2, Self.leastToleranceNanoseconds), Self.mostToleranceNanoseconds)
        let late = now.saturatingDifference(due)
        guard late > tolerance else { return nil }
        let evidence = evidence()
        let explained = min(evidence.runDelayNanoseconds, late)
        guard late - explained > tolerance || evidence.sleptAgain else { return nil }
        let unexplained = late - explained
        // Waiting for a processor that the hypervisor uses is waiting for a processor; if the lateness is mostly that, it is not
        // a pause.
        let stolen = min(evidence.stolenNanoseconds, unexplained)
        let mostStolen = stolen.saturatingSum(evidence.uncountedStolenNanoseconds)
        let isStolen = mostStolen.saturatingProduct(2) >= unexplained && mostStolen > 0
        guard !isStolen || evidence.sleptAgain else { return nil }
        let processPause = ProcessPause(
            from: begun,
            to: now,
            atLeast: unexplained - stolen,
            atMost: now - begun - (evidence.sleptAgain ? 0 : explained)
        )
        if processPause.atLeast > 0 { processPauses += 1 }
        pausedNanoseconds = pausedNanoseconds.saturatingSum(processPause.atLeast)
        return processPause
    }
}
