/// A loop that can be examined while it works: whether work waits for it meanwhile, and whether the thread does its loop's work
/// at all.
package protocol ExaminableLoop: ObservableLoop {
    /// The loop is idle. The watchdog calls this at each visit that finds it so: it records what the loop waits on. Takes no lock
    /// that is held for long, does nothing unbounded.
    func recordRest(at now: UInt64)

    /// The loop is at work, and has passed through its wait since the watchdog's last visit. Same limits as ``recordRest(at:)``.
    func recordTurn()

    /// The loop is at the same work as at the watchdog's last visit. Some 10 µs; nothing unbounded, and not noticeable to the
    /// thread.
    func examine(at now: UInt64) -> LoopExamination

    /// The same, for a thread whose call stack is available as well.
    /// - Parameter isHandler: whether the thread is in a handler according to the call stack; called if the stack's bytes alone
    ///   do not decide it. Its argument is the address on the thread's stack of the events of its loop's wait, if there is one.
    ///   Some 50 µs.
    func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination

    /// What it means if the beacon's activity is `waiting`.
    var waits: PublishedWaits { get }

    /// How often the loop's thread has gone to sleep voluntarily since it exists; nil if the kernel does not report it. Called by
    /// the watchdog, for loops whose waits do not prove that they were idle. Some 10 µs; no lock, and not noticeable to the
    /// thread.
    func countSleeps() -> UInt64?

    /// Whether its process has exited by itself, not by a signal, as far as known: for a loop of another process that does not
    /// publish its end. Called by the watchdog when a stall ends with its thread. Some system calls.
    var hasExited: Bool { get }
}

extension ExaminableLoop {
    package func recordTurn() {}
    package func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination { examine(at: now) }
    package var waits: PublishedWaits { .rests }
    package func countSleeps() -> UInt64? { nil }
    package var hasExited: Bool { false }
}

/// A queue whose waiting work can be counted.
package protocol CountableQueue: ObservableLoop {
    /// Waiting blocks and jobs, without the loop's own ping; nil: not known. Called by the watchdog while the queue stalls. Some
    /// 0.4 µs each, at most 512; no lock.
    func countWaiting() -> Int?
}

/// What it means if a loop's beacon publishes `waiting`.
package enum PublishedWaits: Sendable, Equatable {
    /// The loop is idle, as it publishes itself.
    case rests
    /// The loop reached its wait, which ends a turn. Whether it slept there is not known: events may have been ready.
    case turns
    /// A sample found the thread asleep in its wait. Not every wait is seen.
    case samples
}

/// Whether events are ready at the object that a loop waits on.
package enum PendingWork: Sendable, Equatable {
    case none, pending
    /// The kernel does not report it.
    case unknown
}

/// The result of one examination of a loop at work.
package struct LoopExamination: Sendable, Equatable {
    /// It keeps no work waiting: its thread is idle elsewhere, or runs no loop. This is not a stall, whatever its beacon shows.
    package var isQuiet: Bool
    /// It is idle and may work again at any time, like a loop within a handler: it is to be examined again soon, however long
    /// this has lasted.
    package var isResting: Bool
    /// It is quiet because it is being torn down, as its process was asked to exit: what it waits on is closed, or its thread
    /// waits for the process's own threads and children. What the thread did before kept no work waiting either, because the
    /// thread does not return to the loop.
    package var isOver: Bool
    /// It is quiet because what it waits on is closed, which may belong to the end of its process, or not.
    package var mayBeOver: Bool
    /// It may not be doing a loop's work; this shows when it returns to its wait.
    package var isDoubtful: Bool
    package var work: PendingWork

    package init(
        isQuiet: Bool = false,
        isResting: Bool = false,
        isDoubtful: Bool = false,
        mayBeOver: Bool = false,
        isOver: Bool = false,
        work: PendingWork
    ) {
        self.isQuiet = isQuiet
        self.isResting = isResting
        self.isDoubtful = isDoubtful
        self.mayBeOver = mayBeOver
        self.isOver = isOver
        self.work = work
    }
}
