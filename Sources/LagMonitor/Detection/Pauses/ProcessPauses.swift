internal import Synchronization

/// Time in which the process as a whole could not run, as far as its watchdog noticed: it never counts as a stall. Separately:
/// the time that a quota took, which does count.
package struct ProcessPauses: Sendable, Equatable {
    /// How often the process was stopped, frozen or held by a debugger while a loop worked.
    package var processPauses: UInt64 = 0
    /// For how long, at least.
    package var pausedNanoseconds: UInt64 = 0
    /// How long the quotas of its control groups kept threads from running: not a part of the pauses.
    package var throttledNanoseconds: UInt64 = 0
    /// How often, and for how long, the machine was suspended.
    package var suspensions: UInt64 = 0
    package var suspendedNanoseconds: UInt64 = 0
    /// How often the wall clock was set.
    package var clockSteps: UInt64 = 0

    package init() {}

    /// Those of two periods.
    package static func + (first: ProcessPauses, second: ProcessPauses) -> ProcessPauses {
        var sum = first
        sum.processPauses += second.processPauses
        sum.pausedNanoseconds += second.pausedNanoseconds
        sum.throttledNanoseconds += second.throttledNanoseconds
        sum.suspensions += second.suspensions
        sum.suspendedNanoseconds += second.suspendedNanoseconds
        sum.clockSteps += second.clockSteps
        return sum
    }
}

/// The pauses; the watchdog writes them and any thread may read them.
final class PauseLog: Sendable {
    private let processPauses = Atomic<UInt64>(0)
    private let pausedNanoseconds = Atomic<UInt64>(0)
    private let suspensions = Atomic<UInt64>(0)
    private let suspendedNanoseconds = Atomic<UInt64>(0)
    private let clockSteps = Atomic<UInt64>(0)

    var present: ProcessPauses {
        var pauses = ProcessPauses()
        pauses.processPauses = processPauses.load(ordering: .relaxed)
        pauses.pausedNanoseconds = pausedNanoseconds.load(ordering: .relaxed)
        pauses.suspensions = suspensions.load(ordering: .relaxed)
        pauses.suspendedNanoseconds = suspendedNanoseconds.load(ordering: .relaxed)
        pauses.clockSteps = clockSteps.load(ordering: .relaxed)
        return pauses
    }

    func record(_ pauses: ProcessPauses) {
        processPauses.store(pauses.processPauses, ordering: .relaxed)
        pausedNanoseconds.store(pauses.pausedNanoseconds, ordering: .relaxed)
        suspensions.store(pauses.suspensions, ordering: .relaxed)
        suspendedNanoseconds.store(pauses.suspendedNanoseconds, ordering: .relaxed)
        clockSteps.store(pauses.clockSteps, ordering: .relaxed)
    }
}
