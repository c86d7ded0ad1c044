internal import Synchronization

/// Whether a loop that is watched from outside may have iterated unseen between two proofs: for an action, one stretch of work
/// must be one callback.
///
/// Seeing nothing proves nothing. Without a counter of the kernel, a thread that makes thousands of calls per iteration is
/// released before it passes its wait (``IterationProbe``). So each sample records whether an iteration since the previous one
/// would have been seen.
///
/// One thread samples, another one queries.
final class TurnCoverage: Sendable {
    /// When the last sample without coverage of the time before it was taken, and the last sample of all.
    private let gapNanoseconds = Atomic<UInt64>(0)
    private let sampledNanoseconds = Atomic<UInt64>(0)
    /// Like the first, but samples about which nothing is known count as well.
    private let unprovedNanoseconds = Atomic<UInt64>(0)
    private let askedNanoseconds = Atomic<UInt64>(0)

    /// Whether watching has covered all the time since the previous sample: it begins some µs after one. A check by stops begins
    /// anew after each sample; an iteration in such a gap is improbable, and it cannot be excluded.
    static func isCovered(since sampled: UInt64, by watched: UInt64, isContinuous: Bool) -> Bool {
        !isContinuous || watched <= sampled
    }

    /// - Parameter isComplete: whether it was watched for iterations, or slept, all the time since the previous sample. Nil: not
    ///   known, because it could not be stopped. If another of our threads had stopped it for its stack, other samples prove it.
    func record(_ isComplete: Bool?, at now: UInt64) {
        if isComplete != true { unprovedNanoseconds.store(now, ordering: .relaxed) }
        guard let isComplete else { return }
        if !isComplete { gapNanoseconds.store(now, ordering: .relaxed) }
        sampledNanoseconds.store(now, ordering: .releasing)
    }

    /// The time, in nanoseconds, of the last sample before which the loop may have iterated unseen; 0: there is none.
    var lastGap: UInt64 { unprovedNanoseconds.load(ordering: .relaxed) }

    /// Whether proofs are requested, so that watching for iterations is worth its cost for the thread.
    var isWanted: Bool { askedNanoseconds.load(ordering: .relaxed) != 0 }

    /// Whether no iteration can have been missed between the last call and the last sample, which is later.
    /// - Returns: nil: not known now, because there was no sample at all since the last call: their thread had no processor. A
    ///   later call covers that time as well.
    func isComplete(at now: UInt64) -> Bool? {
        guard !isBehind else { return nil }
        let before = askedNanoseconds.exchange(now, ordering: .relaxed)
        let isSampled = sampledNanoseconds.load(ordering: .acquiring) > before
        return before != 0 && isSampled && gapNanoseconds.load(ordering: .relaxed) <= before
    }

    private var isBehind: Bool {
        let before = askedNanoseconds.load(ordering: .relaxed)
        return before != 0 && sampledNanoseconds.load(ordering: .acquiring) <= before
            && unprovedNanoseconds.load(ordering: .relaxed) <= before
    }
}
