internal import CLagBeacon
internal import Synchronization

extension Watch {
    /// What a scan needs of every watched loop: one cache line each, one after the other.
    ///
    /// A scan of a thousand loops mostly fetches memory that has left the cache since the last scan. So what a busy loop does not
    /// need is elsewhere (``ColdPart``), and the beacons can be fetched ahead.
    ///
    /// The registry writes both parts before it sets `state` to `.active`, and afterwards only `state`. From then on everything
    /// except `state` belongs to the watchdog, until it sets `.retired`.
    struct HotPart: ~Copyable {
        /// Whether a fast poll is enough for a loop that moved on: no stall is in progress, and no rule requests an observation
        /// before the next tick.
        ///
        /// The first field belongs only to the watchdog, as in ``ColdPart``.
        var canFastPoll: Bool
        let state = Atomic<State>(.free)
        /// Whether a fast poll found progress that the detector has not recorded yet.
        var hasUnreportedFastPoll = false
        /// How many long stretches the loop had recorded at the last observation.
        var stretchCount: UInt16
        let beacon: UnsafeMutablePointer<clb_beacon>
        let tickNanoseconds: UInt64
        /// A loop that has not been idle for this long needs more than a fast poll; `.max`: a fast poll is always enough; 0:
        /// never, because its beacon does not show when it is idle.
        let starvationNanoseconds: UInt64
        var lastWord: UInt64 = .max
        /// When `lastWord` was first seen.
        var seenNanoseconds: UInt64 = 0
        /// The next time at which an unchanged word counts.
        var nextTickNanoseconds: UInt64 = .max
        /// Another time for which an observation is requested; `.max`: none.
        var deadlineNanoseconds: UInt64 = .max

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
