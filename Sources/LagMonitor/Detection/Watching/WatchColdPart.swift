internal import LagActivity
internal import LagCapture
internal import Synchronization

/// One watched loop, in memory that the registry made.
///
/// The larger part of it, which a look at a loop that simply goes on does not touch; the smaller is its ``WatchHotPart``.
struct WatchColdPart: ~Copyable {
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
    unowned(unsafe) let unpinned: (any UnpinnedLoop)?
    unowned(unsafe) let threadPool: (any ThreadPoolLoop)?
    unowned(unsafe) let ticks: TickCell?
    /// What the scheduler says of a thread of another process, whose clock nobody has: as of its last tick. The watchdog's, until the
    /// entry is reaped.
    var remoteTimes: PersistentProcFile?

    // The watchdog's, from here on.

    var detector: StallDetector
    /// Whether the watchdog knows that the watch is paused.
    var isPaused = false
    /// The thread's state at the first timeout of the present suspicion.
    var earlier: ThreadState?
    /// What the thread had had when its stack was last looked at.
    var timesAtLastSample: ThreadTimes?
    /// What the thread has used.
    var usage = UsageMeter()
    /// Whether the last look was put off, because it may have come after a stop of the process in the same round.
    var isDeferred = false
    /// The process pause that such a look did not get to see.
    var deferredProcessPause: ProcessPause?
    /// What the loop was doing when the present stall was found.
    var activity = LoopActivity.notRunning
    /// The stall in progress, while it has an episode.
    var episode: Int?
    /// When its stack is to be looked at next.
    var nextStackSampleNanoseconds: UInt64 = .max
    var stackSamplingBackoff = StackSamplingBackoff()
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

    /// - Parameter ignoreBefore: nothing before that counts.
    init(
        _ loop: any ObservableLoop,
        target: ThreadIdentity,
        ticks: TickCell?,
        remoteTimes: PersistentProcFile?,
        rules: WatchRules,
        ignoreBefore: UInt64
    ) {
        self.target = target
        pingable = loop as? any PingableLoop
        unpinned = loop as? any UnpinnedLoop
        threadPool = loop as? any ThreadPoolLoop
        self.ticks = ticks
        self.remoteTimes = remoteTimes
        detector = StallDetector(rules: rules, ignoreBefore: ignoreBefore)
    }
}
