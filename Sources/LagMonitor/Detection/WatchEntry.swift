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

    // What a look at a busy loop needs comes first and fills one cache line: a look at a thousand loops is mostly the
    // fetching of memory that has grown cold since the last one.
    let state = Atomic<State>(.free)
    /// Whether a look that finds the loop moved on may leave it at noting that: neither a stall is in progress, nor does
    /// the rule want a look before the next tick.
    var isPlain: Bool
    /// Whether that was done, so that the detector has yet to see it.
    var isFresh = false
    let beacon: UnsafeMutablePointer<clu_beacon>
    let intervalNanoseconds: UInt64
    var lastWord: UInt64 = .max
    /// When `lastWord` was first seen.
    var seen: UInt64 = 0
    /// When standing still counts next.
    var nextTick: UInt64 = .max
    /// A further time at which a look is wanted; `.max`: none.
    var deadline: UInt64 = .max

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

    init(beacon: UnsafeMutablePointer<clu_beacon>, target: ThreadIdentity, rule: DetectionRule) {
        self.beacon = beacon
        self.target = target
        intervalNanoseconds = rule.intervalNanoseconds
        isPlain = rule.timeouts > 1
        detector = StallDetector(rule: rule)
    }
}
