package import LagActivity
internal import Synchronization

/// When the processes of a command were asked to end. Who ends its own workers waits for them, and nothing that is still pending waits for that one.
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
