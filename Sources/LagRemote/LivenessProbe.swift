internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// Whether the threads of a watch are still there: each answers when it comes round, so who has not answered hangs or is gone.
///
/// A timer says that a timer runs; an answer says that a stall would be noticed. Any thread.
package final class LivenessProbe: Sendable {
    enum Member { case manager, relay }

    /// Says whether all who were asked have answered. Any thread.
    package typealias Check = @Sendable () -> Bool

    /// Asks the thread that watches the loops of one process.
    static func ask(watchdogOf monitor: StallMonitor) -> Check {
        // How often it had come round before it was asked.
        guard let wakes = monitor.watchdogCounters?.wakes else { return { true } }
        monitor.wakeWatchdog()
        // A watch that has ended owes no answer.
        return { monitor.watchdogCounters.map { $0.wakes > wakes } ?? true }
    }

    private let asked = Atomic<UInt64>(0)
    private let managed = Atomic<UInt64>(0)
    private let relayed = Atomic<UInt64>(0)

    /// The number to answer with. What is not awake is to be woken after this.
    func request() -> UInt64 { asked.add(1, ordering: .acquiringAndReleasing).newValue }

    /// The last number that was asked for: to be read first in a round, and answered at its end.
    var present: UInt64 { asked.load(ordering: .acquiring) }

    func answer(_ number: UInt64, by member: Member) {
        switch member {
        case .manager: managed.store(number, ordering: .releasing)
        case .relay: relayed.store(number, ordering: .releasing)
        }
    }

    func isAnswered(_ number: UInt64) -> Bool {
        managed.load(ordering: .acquiring) >= number && relayed.load(ordering: .acquiring) >= number
    }
}
