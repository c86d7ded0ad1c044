internal import CLibunwind
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// One watched loop, in memory that the registry made.
///
/// The registry writes everything before it sets `state` to `.active`, and nothing afterwards. From then on all but
/// `state` is the watchdog's, until it sets `.retired`.
struct WatchEntry: ~Copyable {
    enum State: UInt8, AtomicRepresentable {
        /// Nobody's.
        case free
        /// Watched.
        case active
        /// To be watched no more: the watchdog ends it when it next looks.
        case ending
        /// The watchdog is done with it; the registry lets go of the loop.
        case retired
    }

    let state = Atomic<State>(.free)
    let stalls = Atomic<UInt64>(0)
    let dropped = Atomic<UInt64>(0)
    let suppressed = Atomic<UInt64>(0)
    var beacon: UnsafeMutablePointer<clu_beacon>
    var target: ThreadIdentity
    var detector: StallDetector
    var lastWord: UInt64 = .max
    /// When standing still counts next.
    var nextTick: UInt64 = .max
    /// A further time at which a look is wanted; `.max`: none.
    var deadline: UInt64 = .max
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

    init(beacon: UnsafeMutablePointer<clu_beacon>, target: ThreadIdentity, rule: DetectionRule) {
        self.beacon = beacon
        self.target = target
        detector = StallDetector(rule: rule)
    }
}
