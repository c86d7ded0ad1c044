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
    /// - Parameter begin: when the stall began.
    func hasExited(since begin: UInt64) -> Bool
}

extension ExaminableLoop {
    package func recordTurn() {}
    package func examine(at now: UInt64, isHandler: (_ events: UInt64?) -> Bool) -> LoopExamination { examine(at: now) }
    package var waits: PublishedWaits { .rests }
    package func countSleeps() -> UInt64? { nil }
    package func hasExited(since begin: UInt64) -> Bool { false }
}
