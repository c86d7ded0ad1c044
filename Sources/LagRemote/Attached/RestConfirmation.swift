internal import Synchronization

/// Whether a sampled loop has rested at its place often, or for long: before, its only waits may be those of a start, after which
/// other threads do the work. A stall is reported from the first one on, but an action needs more.
///
/// One thread records, any thread queries.
final class RestConfirmation: Sendable {
    /// As many as the preloaded library requires in a row.
    static let rests = 8
    /// The longest time that a start usually waits.
    static let longNanoseconds: UInt64 = 5_000_000_000

    private let confirmed = Atomic<Bool>(false)
    // The recording thread's.
    private let count = Atomic<Int>(0)
    private let runs = Atomic<UInt64>(.max)
    private let sinceNanoseconds = Atomic<UInt64>(.max)
    private let firstNanoseconds = Atomic<UInt64>(.max)

    /// Call it when the thread was found in its loop's wait.
    /// - Parameter runs: how often it has got a processor so far: another number means another wait.
    func recordRest(runs now: UInt64, at time: UInt64) {
        guard !isConfirmed else { return }
        if firstNanoseconds.load(ordering: .relaxed) == .max { firstNanoseconds.store(time, ordering: .relaxed) }
        let isAnother = runs.exchange(now, ordering: .relaxed) != now
        if isAnother { count.wrappingAdd(1, ordering: .relaxed) }
        if isAnother || sinceNanoseconds.load(ordering: .relaxed) == .max { sinceNanoseconds.store(time, ordering: .relaxed) }
        let since = sinceNanoseconds.load(ordering: .relaxed)
        let isLong = time >= since && time - since >= Self.longNanoseconds
        if isLong || count.load(ordering: .relaxed) >= Self.rests { confirmed.store(true, ordering: .relaxed) }
    }

    /// Call it when the loop's place is another one: its rests at the first one may have been those of a start.
    func restart() {
        count.store(0, ordering: .relaxed)
        interrupt()
    }

    /// Call it when the thread may have left its rest unseen.
    func interrupt() { sinceNanoseconds.store(.max, ordering: .relaxed) }

    var isConfirmed: Bool { confirmed.load(ordering: .relaxed) }

    /// Whether all its rests so far were within the time of a start.
    /// - Parameter time: when it last returned from its wait.
    func isYoung(wokenAt time: UInt64) -> Bool {
        let first = firstNanoseconds.load(ordering: .relaxed)
        return first == .max || time < first &+ Self.longNanoseconds
    }
}
