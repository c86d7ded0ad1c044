/// A loop of which can be found out, while it is at work, whether work waits for it meanwhile, and whether the thread is at its loop's work at all.
package protocol ExaminableLoop: ObservableLoop {
    /// The loop rests. Called by the watchdog at each visit that finds it so: learns what it waits on. No lock that is held for long, nothing
    /// unbounded.
    func recordRest(at now: UInt64)

    /// The loop is at work, and has come by its wait since the watchdog's last visit. As ``recordRest(at:)``.
    func recordTurn()

    /// The loop is at the same work as at the watchdog's last visit. Some 10 µs; nothing unbounded, nothing that the thread notices.
    func examine(at now: UInt64) -> LoopExamination

    /// The same, of a thread whose calls can be seen as well.
    /// - Parameter isHandler: whether, by these, the thread is in a handler; asked with the address on its stack where its loop's wait has its events, if there is one,
    ///   where the stack's bytes alone do not say. Some 50 µs.
    func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination

    /// What it means when the beacon says that the loop waits.
    var waits: PublishedWaits { get }

    /// How often the loop's thread has gone to sleep by itself since it exists; nil where the kernel does not say. Called by the watchdog, for
    /// loops whose waits are no proof of a rest. Some 10 µs; no lock, nothing that the thread notices.
    func countSleeps() -> UInt64?
}

extension ExaminableLoop {
    package func recordTurn() {}
    package func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination { examine(at: now) }
    package var waits: PublishedWaits { .rests }
    package func countSleeps() -> UInt64? { nil }
}

/// A queue of which can be found out how much waits in it.
package protocol CountableQueue: ObservableLoop {
    /// Blocks and jobs that wait, without the loop's own ping; nil: not known. Called by the watchdog while the queue stalls. Some 0.4 µs each, at most 512; no lock.
    func countWaiting() -> Int?
}

/// What it means when a loop's beacon says that it waits.
package enum PublishedWaits: Sendable, Equatable {
    /// The loop rests, as it says itself.
    case rests
    /// The loop came to its wait, which ends a turn. Whether it slept there is not known: events may have been ready.
    case turns
    /// A sample found the thread asleep in its wait. Not every wait is seen.
    case samples
}

/// Whether events are ready at the object that a loop waits on.
package enum PendingWork: Sendable, Equatable {
    case none, pending
    /// The kernel does not say.
    case unknown
}

/// What one examination of a loop at work has found.
package struct LoopExamination: Sendable, Equatable {
    /// It keeps no work waiting: its thread rests elsewhere, or runs no loop. No stall, whatever its beacon says.
    package var isQuiet: Bool
    /// It rests, and may be at work again at any time, as a loop within a handler is: to be examined again soon, however long that has lasted.
    package var isResting: Bool
    /// It is quiet as it is being torn down, in the end that its process was asked for: what it waits on is closed, or its thread waits for the process's own threads and
    /// children. What the thread did before kept no one waiting either, since it does not come back to the loop.
    package var isOver: Bool
    /// What it does may be no loop's work, which is seen when it comes back to its wait.
    package var isDoubtful: Bool
    package var work: PendingWork

    package init(
        isQuiet: Bool = false,
        isResting: Bool = false,
        isDoubtful: Bool = false,
        isOver: Bool = false,
        work: PendingWork
    ) {
        self.isQuiet = isQuiet
        self.isResting = isResting
        self.isDoubtful = isDoubtful
        self.isOver = isOver
        self.work = work
    }
}
