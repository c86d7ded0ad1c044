internal import CLibunwind
internal import Synchronization

/// What a look needs of every watched loop: one cache line each, one after the other.
///
/// A look at a thousand loops is mostly the fetching of memory that has grown cold since the last one; so what a busy loop
/// does not need is elsewhere (``WatchEntry``), and the lines can be fetched ahead.
///
/// The registry writes line and entry before it sets `state` to `.active`, and nothing afterwards. From then on all but
/// `state` is the watchdog's, until it sets `.retired`.
struct WatchLine: ~Copyable {
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
    private let padding: UInt64 = 0

    init(beacon: UnsafeMutablePointer<clu_beacon>, rule: DetectionRule) {
        self.beacon = beacon
        intervalNanoseconds = rule.intervalNanoseconds
        isPlain = rule.timeouts > 1
    }
}
