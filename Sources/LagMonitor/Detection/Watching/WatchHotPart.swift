internal import CLagBeacon
internal import Synchronization

/// What a look needs of every watched loop: one cache line each, one after the other.
///
/// A look at a thousand loops is mostly the fetching of memory that has grown cold since the last one; so what a busy loop
/// does not need is elsewhere (``WatchColdPart``), and the lines can be fetched ahead.
///
/// The registry writes line and entry before it sets `state` to `.active`, and nothing but `state` afterwards. From then on all
/// but `state` is the watchdog's, until it sets `.retired`.
struct WatchHotPart: ~Copyable {
    enum State: UInt8, AtomicRepresentable {
        /// Nobody's.
        case free
        /// Watched.
        case active
        /// Not watched for now.
        case paused
        /// To be watched again: the watchdog begins anew when it next looks, also if it did not get to see the pause.
        case resuming
        /// To be watched no more: the watchdog ends it when it next looks.
        case ending
        /// The watchdog is done with it; the registry lets go of the loop.
        case retired
    }

    let state = Atomic<State>(.free)
    /// Whether a glance is enough for a loop that moved on: neither a stall is in progress, nor does a rule want a look
    /// before the next tick.
    var canFastPoll: Bool
    /// Whether there was a glance that the detector has yet to hear of.
    var hasUnreportedFastPoll = false
    /// How many long stretches the loop had noted at the last look.
    var stretchCount: UInt16
    let beacon: UnsafeMutablePointer<clb_beacon>
    let tickNanoseconds: UInt64
    /// A loop that has not rested for so long needs more than a glance; `.max`: any may.
    let starvationNanoseconds: UInt64
    var lastWord: UInt64 = .max
    /// When `lastWord` was first seen.
    var seen: UInt64 = 0
    /// When standing still counts next.
    var nextTick: UInt64 = .max
    /// A further time at which a look is wanted; `.max`: none.
    var deadline: UInt64 = .max

    init(beacon: UnsafeMutablePointer<clb_beacon>, rules: WatchRules) {
        self.beacon = beacon
        tickNanoseconds = rules.tickNanoseconds
        starvationNanoseconds = rules.starvationNanoseconds ?? .max
        canFastPoll = rules.allowsFastPoll
        stretchCount = clb_beacon_stretch_count(beacon)
    }
}
