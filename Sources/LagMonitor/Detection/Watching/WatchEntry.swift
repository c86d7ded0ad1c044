internal import LagActivity
internal import LagCapture
internal import Synchronization

/// One watched loop, in memory that the registry made.
///
/// The larger part of it, which a look at a loop that simply goes on does not touch; the smaller is its ``WatchLine``.
struct WatchEntry: ~Copyable {
    let stalls = Atomic<UInt64>(0)
    let dropped = Atomic<UInt64>(0)
    let suppressed = Atomic<UInt64>(0)
    /// Stalls that were none, because a debugger held the loop.
    let dismissed = Atomic<UInt64>(0)
    /// When the watch was last resumed, `CLOCK_MONOTONIC`. Written by the registry.
    let resumed = Atomic<UInt64>(0)
    /// When a ping was last given to the loop, `CLOCK_MONOTONIC`. Written by whoever gives it.
    let pinged = Atomic<UInt64>(0)
    /// The thread to look at; of a loop that wanders the one that worked for it when it was last looked at.
    var target: ThreadIdentity
    // Kept alive by the registration, which is let go after the watchdog is done with the entry.
    unowned(unsafe) let pingable: (any PingableLoop)?
    unowned(unsafe) let wandering: (any WanderingLoop)?
    unowned(unsafe) let crowded: (any CrowdedLoop)?
    unowned(unsafe) let ticks: TickCell?
    /// What the scheduler says of a thread of another process, whose clock nobody has: as of its last tick. The watchdog's, until the
    /// entry is reaped.
    var foreignTimes: KeptProcFile?

    // The watchdog's, from here on.

    var judge: LoopJudge
    /// Whether the watchdog knows that the watch is paused.
    var isPaused = false
    /// The thread's state at the first timeout of the present suspicion.
    var earlier: ThreadState?
    /// What the thread had had when its stack was last looked at.
    var lookTimes: ThreadTimes?
    /// What the thread has used.
    var usage = UsageMeter()
    /// Whether the last look was put off, because it may have come after a stop of the process in the same round.
    var isDeferred = false
    /// The blackout that such a look did not get to see.
    var deferredBlackout: Blackout?
    /// What the loop was doing when the present stall was found.
    var activity = LoopActivity.notRunning
    /// The stall in progress, while it has an episode.
    var episode: Int?
    /// When its stack is to be looked at next.
    var lookNanoseconds: UInt64 = .max
    var annealing = Annealing()
    /// When the stall in progress began.
    var stalledNanoseconds: UInt64 = 0

    var counters: WatchCounters {
        WatchCounters(
            stalls: stalls.load(ordering: .relaxed),
            dropped: dropped.load(ordering: .relaxed),
            suppressed: suppressed.load(ordering: .relaxed),
            dismissed: dismissed.load(ordering: .relaxed)
        )
    }

    /// - Parameter floor: nothing before that counts.
    init(
        _ loop: any ObservableLoop,
        target: ThreadIdentity,
        ticks: TickCell?,
        foreignTimes: KeptProcFile?,
        rules: WatchRules,
        floor: UInt64
    ) {
        self.target = target
        pingable = loop as? any PingableLoop
        wandering = loop as? any WanderingLoop
        crowded = loop as? any CrowdedLoop
        self.ticks = ticks
        self.foreignTimes = foreignTimes
        judge = LoopJudge(rules: rules, floor: floor)
    }
}
