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
    let target: ThreadIdentity
    var detector: StallDetector
    /// The thread's state at the first timeout of the present suspicion.
    var earlier: ThreadState?
    /// The stall in progress, while it has an episode.
    var episode: Int?

    var counters: WatchCounters {
        WatchCounters(
            stalls: stalls.load(ordering: .relaxed),
            dropped: dropped.load(ordering: .relaxed),
            suppressed: suppressed.load(ordering: .relaxed)
        )
    }

    init(target: ThreadIdentity, rule: DetectionRule) {
        self.target = target
        detector = StallDetector(rule: rule)
    }
}
