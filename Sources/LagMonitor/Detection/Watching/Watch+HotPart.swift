internal import CLagBeacon
internal import Synchronization

extension Watch {
    /// What a scan needs of every watched loop: one cache line each, one after the other.
    ///
    /// A scan of a thousand loops is mostly the fetching of memory that has grown cold since the last one; so what a busy loop does
    /// not need is elsewhere (``ColdPart``), and the beacons can be fetched ahead.
    ///
    /// The registry writes both parts before it sets `state` to `.active`, and nothing but `state` afterwards. From then on all
    /// but `state` is the watchdog's, until it sets `.retired`.
    struct HotPart: ~Copyable {
        /// Whether a fast poll is enough for a loop that moved on: neither is a stall in progress, nor does a rule want an observation
        /// before the next tick.
        ///
        /// The first field is the watchdog's alone, as in ``ColdPart``.
        var canFastPoll: Bool
        let state = Atomic<State>(.free)
        /// Whether a fast poll found progress that the detector has yet to record.
        var hasUnreportedFastPoll = false
        /// How many long stretches the loop had recorded at the last observation.
        var stretchCount: UInt16
        let beacon: UnsafeMutablePointer<clb_beacon>
        let tickNanoseconds: UInt64
        /// A loop that has not rested for so long needs more than a fast poll; `.max`: a fast poll is always enough; 0: never, because its
        /// beacon does not say when it rests.
        let starvationNanoseconds: UInt64
        var lastWord: UInt64 = .max
        /// When `lastWord` was first seen.
        var seen: UInt64 = 0
        /// When standing still counts next.
        var nextTick: UInt64 = .max
        /// A further time at which an observation is wanted; `.max`: none.
        var deadline: UInt64 = .max

        /// - Parameter publishesRests: see ``PublishedWaits``.
        init(beacon: UnsafeMutablePointer<clb_beacon>, rules: WatchRules, publishesRests: Bool) {
            self.beacon = beacon
            tickNanoseconds = rules.tickNanoseconds
            starvationNanoseconds = rules.starvationNanoseconds.map { publishesRests ? $0 : 0 } ?? .max
            canFastPoll = rules.allowsFastPoll
            stretchCount = clb_beacon_stretch_count(beacon)
        }
    }
}
