internal import LagActivity
internal import Synchronization

/// Gives pings to loops whose way of taking them may lock or allocate: a thread of its own may hang there, the watchdog
/// must not. Whatever it takes to give a ping is not held against the loop.
///
/// Threads: ``requestPing(_:)`` is the watchdog's; ``run()`` is the relay's thread; ``stop()`` is for any.
package final class PingRelay: Sendable {
    private let registry: WatchRegistry
    // Each loop has at most one ping on its way, so as many places as loops are enough.
    private let asked = IndexRing(capacity: WatchRegistry.capacity)
    private let semaphore = WakeSemaphore()
    private let stopping = Atomic<Bool>(false)

    package init(registry: WatchRegistry) { self.registry = registry }

    /// Records a ping to be given. Neither locks nor allocates.
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
