internal import LagActivity
internal import Synchronization

/// Sends pings to loops whose ping function may lock or allocate: a separate thread may hang there, the watchdog must not. The
/// time for sending a ping does not count as the loop's.
///
/// Threads: ``requestPing(_:)`` is the watchdog's; ``run()`` is the relay's thread; ``stop()`` is for any.
package final class PingRelay: Sendable {
    private let registry: WatchRegistry
    // Each loop has at most one outstanding ping, so as many places as loops are enough.
    private let asked = IndexRing(capacity: WatchRegistry.capacity)
    private let semaphore = WakeSemaphore()
    private let stopping = Atomic<Bool>(false)

    package init(registry: WatchRegistry) { self.registry = registry }

    /// Requests a ping. Neither locks nor allocates.
    func requestPing(_ index: Int) {
        _ = asked.give(index)
        semaphore.post()
    }

    /// The thread's body.
    package func run() {
        while !stopping.load(ordering: .acquiring) {
            _ = semaphore.wait(until: .max)
            semaphore.drain()
            while let index = asked.take() { registry.ping(index) }
        }
    }

    package func stop() {
        stopping.store(true, ordering: .releasing)
        semaphore.post()
    }
}
