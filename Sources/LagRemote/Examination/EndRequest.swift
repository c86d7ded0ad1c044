package import LagActivity
internal import Synchronization

/// When the processes of a command were asked to end. Who ends waits for its own threads and children in its handler, whatever is still pending.
///
/// Any thread.
package final class EndRequest: Sendable {
    /// A loop that serves on has come back to its wait by then.
    private static let handlingNanoseconds: UInt64 = 2_000_000_000
    /// An end that takes longer is worth a line.
    private static let endingNanoseconds: UInt64 = 10_000_000_000

    /// 0: never.
    private let asked = Atomic<UInt64>(0)

    package init() {}

    /// A later time takes the place of an earlier one.
    package func record(at time: MonotonicTime) { asked.store(time.nanoseconds, ordering: .relaxed) }

    /// Whether a stretch of a loop's work that began then may be the end that was asked for. One that had begun before is a stall as it was.
    func mayBeEnd(since begin: UInt64, at now: UInt64) -> Bool {
        let asked = asked.load(ordering: .relaxed)
        guard asked != 0, begin >= asked, now >= asked else { return false }
        return begin - asked < Self.handlingNanoseconds && now - asked < Self.endingNanoseconds
    }
}
