internal import LagModel
internal import Synchronization

/// Whether a sampled loop has rested at its place often, or for long: before, its only waits may be those of a start, after which
/// other threads do the work. A stall is reported from the first one on, but an action needs more.
///
/// One thread records, any thread queries.
// Unchecked: only the recording thread uses the properties that are not atomic.
final class RestConfirmation: @unchecked Sendable {
    /// As many as the preloaded library requires in a row.
    static let rests = 8
    /// The longest time that a start usually waits.
    static let longNanoseconds: UInt64 = 5_000_000_000

    private let confirmed = Atomic<Bool>(false)
    private let firstNanoseconds = Atomic<UInt64>(.max)
    private var count = 0
    private var runs: UInt64?
    private var sinceNanoseconds: UInt64?

    /// Call it when the thread was found in its loop's wait.
    /// - Parameter runs: how often it has got a processor so far: another number means another wait.
    func recordRest(runs now: UInt64, at time: UInt64) {
        guard !isConfirmed else { return }
        if firstNanoseconds.load(ordering: .relaxed) == .max { firstNanoseconds.store(time, ordering: .relaxed) }
        if runs != now {
            (runs, sinceNanoseconds) = (now, time)
            count += 1
        }
        let since = sinceNanoseconds ?? time
        sinceNanoseconds = since
        if time.saturatingDifference(since) >= Self.longNanoseconds || count >= Self.rests {
            confirmed.store(true, ordering: .relaxed)
        }
    }

    /// Call it when the loop's place is another one: its rests at the first one may have been those of a start.
    func restart() {
        count = 0
        interrupt()
    }

    /// Call it when the thread may have left its rest unseen.
    func interrupt() { sinceNanoseconds = nil }

    var isConfirmed: Bool { confirmed.load(ordering: .relaxed) }

    /// Whether all its rests so far were within the time of a start.
    /// - Parameter time: when it last returned from its wait.
    func isYoung(wokenAt time: UInt64) -> Bool {
        let first = firstNanoseconds.load(ordering: .relaxed)
        return first == .max || time < first &+ Self.longNanoseconds
    }
}
