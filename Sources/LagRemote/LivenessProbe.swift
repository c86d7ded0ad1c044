internal import LagDetection
internal import LagMonitor
internal import Synchronization

/// Checks that the threads of a watch are alive: each answers in its next round, so a thread that does not answer hangs or is
/// gone.
///
/// A timer only proves that a timer runs; an answer proves that a stall would be noticed. Any thread.
package final class LivenessProbe: Sendable {
    enum Member { case manager, relay }

    /// The probed threads, and whether they have answered. Any thread.
    package struct Check: Sendable {
        /// The threads that all watches of a target need.
        private var shared: @Sendable () -> Bool
        /// The watchdog of each process.
        private var watchdogs: [(process: String, hasAnswered: @Sendable () -> Bool)]

        package init(shared: @escaping @Sendable () -> Bool = { true }) { self.init(shared: shared, watchdogs: []) }

        init(shared: @escaping @Sendable () -> Bool, watchdogs: [(process: String, hasAnswered: @Sendable () -> Bool)]) {
            self.shared = shared
            self.watchdogs = watchdogs
        }

        package init(_ checks: [Check]) {
            self.init(shared: { checks.allSatisfy { $0.haveSharedAnswered } }, watchdogs: checks.flatMap(\.watchdogs))
        }

        package var haveSharedAnswered: Bool { shared() }

        /// The processes whose watchdog has not answered: their stalls are not found.
        package var silentProcesses: [String] { watchdogs.filter { !$0.hasAnswered() }.map(\.process) }

        /// Whether all have answered.
        package func callAsFunction() -> Bool { shared() && watchdogs.allSatisfy { $0.hasAnswered() } }

        /// No answer is expected while this is false.
        package func expected(while isExpected: @escaping @Sendable () -> Bool) -> Check {
            Check(
                shared: { [shared] in !isExpected() || shared() },
                watchdogs: watchdogs.map { watchdog in (watchdog.process, { !isExpected() || watchdog.hasAnswered() }) }
            )
        }
    }

    /// Probes the thread that watches the loops of one process.
    static func ask(watchdogOf monitor: StallMonitor) -> @Sendable () -> Bool {
        // How many rounds it had made before the probe.
        guard let wakes = monitor.watchdogCounters?.wakes else { return { true } }
        monitor.wakeWatchdog()
        // An ended watch need not answer.
        return { monitor.watchdogCounters.map { $0.wakes > wakes } ?? true }
    }

    private let asked = Atomic<UInt64>(0)
    private let managed = Atomic<UInt64>(0)
    private let relayed = Atomic<UInt64>(0)

    /// The number to answer with. Threads that sleep must be woken after this.
    func request() -> UInt64 { asked.add(1, ordering: .acquiringAndReleasing).newValue }

    /// The last requested number: read it first in a round, and answer it at its end.
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
