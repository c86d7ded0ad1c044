package import LagActivity
internal import Synchronization

/// When the processes of a command were asked to end. A process that ends waits in its handler for its own threads and children,
/// whatever is still pending.
///
/// Any thread.
package final class EndRequest: Sendable {
    /// A loop that keeps serving has returned to its wait by then.
    private static let handlingNanoseconds: UInt64 = 2_000_000_000
    /// An end that takes longer is reported.
    static let endingNanoseconds: UInt64 = 10_000_000_000

    /// 0: never.
    private let asked = Atomic<UInt64>(0)

    package init() {}

    /// A later time replaces an earlier one.
    package func record(at time: MonotonicTime) { asked.store(time.nanoseconds, ordering: .relaxed) }

    /// Whether work of a loop that began then may be the requested end. Work that began before remains a stall.
    func mayBeEnd(since begin: UInt64, at now: UInt64) -> Bool {
        let asked = asked.load(ordering: .relaxed)
        guard asked != 0, begin >= asked, now >= asked else { return false }
        return begin - asked < Self.handlingNanoseconds && now - asked < Self.endingNanoseconds
    }
}
