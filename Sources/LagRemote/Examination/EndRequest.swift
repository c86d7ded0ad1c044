package import LagActivity
internal import Synchronization

/// When the processes of a command were asked to end. Who ends waits for its own workers, by locks, joins and children; what is still pending is not
/// kept waiting by that.
///
/// Any thread.
package final class EndRequest: Sendable {
    /// As long as service managers wait (`DefaultTimeoutStopSec` of systemd): what still runs then goes on.
    private static let endingNanoseconds: UInt64 = 90_000_000_000

    /// 0: never.
    private let asked = Atomic<UInt64>(0)

    package init() {}

    /// A later time takes the place of an earlier one.
    package func record(at time: MonotonicTime) { asked.store(time.nanoseconds, ordering: .relaxed) }

    /// Whether what has run since `begin` is to end: what was started afterwards was not asked.
    func isAsked(ofOneSince begin: UInt64, at now: UInt64) -> Bool {
        let asked = asked.load(ordering: .relaxed)
        return asked != 0 && asked >= begin && now >= asked && now - asked < Self.endingNanoseconds
    }
}
