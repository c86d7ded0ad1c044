internal import CLagBeacon
internal import LagActivity
internal import LagModel
internal import Synchronization

/// A stall of a sampled loop that ended when what the loop waits on was closed: interpreters do that before their process exits,
/// other programs go on with another loop. It is reported once it is known which, with the end that it had.
extension Watch {
    struct UnreportedEnd {
        /// The episode; -1: there is none.
        fileprivate var episode = -1
        /// The beacon's word of the stretch of work. The thread has waited again if it is another one.
        fileprivate var word: UInt64 = 0
        /// A process that has not exited by then goes on.
        fileprivate var limit: UInt64 = 0

        var exists: Bool { episode >= 0 }

        /// The end of a process that takes longer is reported.
        fileprivate static let longestNanoseconds: UInt64 = 10_000_000_000
    }

    func keep(_ episode: Int) {
        settle()
        let limit = services.clock().saturatingSum(UnreportedEnd.longestNanoseconds)
        cold.pointee.unreportedEnd = UnreportedEnd(episode: episode, word: hot.pointee.lastWord, limit: limit)
        // A busy loop would not be visited closely.
        hot.pointee.canFastPoll = false
    }

    /// Call it at each close visit.
    func settleIfKnown(_ reading: BeaconReading, at now: UInt64) {
        guard cold.pointee.unreportedEnd.exists,
            reading.beaconWord != cold.pointee.unreportedEnd.word || now >= cold.pointee.unreportedEnd.limit
        else { return }
        settle()
    }

    /// Reports it, unless its process has exited.
    func settle() {
        guard cold.pointee.unreportedEnd.exists else { return }
        let last = cold.pointee.unreportedEnd
        cold.pointee.unreportedEnd = UnreportedEnd()
        let present = BeaconReading(hot.pointee.beacon)
        let isLast = present.activity == .finished && present.word >> 8 == (last.word >> 8) &+ 1
        if isLast || present.word == last.word, hasExited(since: services.queue.episodes[last.episode].facts.interval.since) {
            cold.pointee.dismissed.add(1, ordering: .relaxed)
            services.queue.episodes[last.episode].facts.phase = .dismissed
        }
        hand(over: last.episode)
    }

    /// To the reporter.
    func hand(over episode: Int) {
        services.queue.giveReady(episode)
        services.notify()
    }
}
