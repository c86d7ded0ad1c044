internal import Synchronization

/// Whether a loop that is watched from outside can have gone around unseen between two proofs: for an action, one stretch of work has to be one callback.
///
/// That nothing was seen is no proof. Where the kernel gives no counter, a thread that makes thousands of calls a turn is let go before it comes by its
/// wait (``IterationProbe``). So each sample says whether a turn since the one before would have been seen.
///
/// One thread samples, another one asks.
final class TurnCoverage: Sendable {
    /// When the last sample was made that says nothing of the time before it, and the last of all.
    private let gapNanoseconds = Atomic<UInt64>(0)
    private let sampledNanoseconds = Atomic<UInt64>(0)
    private let askedNanoseconds = Atomic<UInt64>(0)

    /// - Parameter isComplete: whether it was watched for turns, or slept, all the time since the sample before.
    func record(_ isComplete: Bool, at now: UInt64) {
        if !isComplete { gapNanoseconds.store(now, ordering: .relaxed) }
        sampledNanoseconds.store(now, ordering: .releasing)
    }

    /// Whether proofs are asked for, so that watching for turns is worth what it costs the thread.
    var isWanted: Bool { askedNanoseconds.load(ordering: .relaxed) != 0 }

    /// Whether no turn can have gone unseen from the last call to the last sample, which is younger than that.
    func isComplete(at now: UInt64) -> Bool {
        let before = askedNanoseconds.exchange(now, ordering: .relaxed)
        let isSampled = sampledNanoseconds.load(ordering: .acquiring) > before
        return before != 0 && isSampled && gapNanoseconds.load(ordering: .relaxed) <= before
    }
}
