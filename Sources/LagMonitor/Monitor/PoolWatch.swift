package import LagActivity
package import LagDetection
internal import Synchronization

/// A pool whose threads are watched one by one (``StallRules/callout``).
package protocol WorkerPool: ObservableLoop {
    /// The watch of all pools' threads, for the first pool that is watched.
    static func makeWatch(registry: WatchRegistry) -> any PoolWatch
}

/// Finds the threads of watched pools, and samples them. One per engine; created by the module that has the pools.
package protocol PoolWatch: ExternalSampler {
    /// Watches a pool's threads for an owner, until ``remove(_:of:)``. Threads that already exist are watched when it returns.
    func add(
        _ pool: any WorkerPool,
        name: String,
        owner: any WatchOwner,
        rules: WatchRules,
        _ watchdog: Watchdog
    ) throws(StallMonitorError)

    func remove(_ loop: any ObservableLoop, of owner: any WatchOwner)

    /// The caller ends their watches.
    func removeAll(of owner: any WatchOwner)

    /// Pauses or resumes the watch of a pool's threads; of all that owner's pools if `loop` is nil.
    func setPaused(_ isPaused: Bool, _ loop: (any ObservableLoop)?, of owner: any WatchOwner)

    /// Ends its thread. The watchdog has stopped, or hangs.
    func stop(until deadline: UInt64)
}

/// Stands in for the pool watch until the first pool is watched: the watchdog, which samples through it, is created earlier.
final class LatePoolWatch: PoolWatch {
    private final class Made: Sendable {
        let watch: any PoolWatch

        init(_ watch: any PoolWatch) { self.watch = watch }
    }

    private let registry: WatchRegistry
    private let made = AtomicLazyReference<Made>()

    init(registry: WatchRegistry) { self.registry = registry }

    /// Nil: no pool was watched. Takes no lock.
    private var present: (any PoolWatch)? { made.load()?.watch }

    func add(
        _ pool: any WorkerPool,
        name: String,
        owner: any WatchOwner,
        rules: WatchRules,
        _ watchdog: Watchdog
    ) throws(StallMonitorError) {
        let watch = present ?? made.storeIfNil(Made(type(of: pool).makeWatch(registry: registry))).watch
        try watch.add(pool, name: name, owner: owner, rules: rules, watchdog)
    }

    func remove(_ loop: any ObservableLoop, of owner: any WatchOwner) { present?.remove(loop, of: owner) }
    func removeAll(of owner: any WatchOwner) { present?.removeAll(of: owner) }

    func setPaused(_ isPaused: Bool, _ loop: (any ObservableLoop)?, of owner: any WatchOwner) {
        present?.setPaused(isPaused, loop, of: owner)
    }

    func stop(until deadline: UInt64) { present?.stop(until: deadline) }

    func sample(at now: UInt64) -> Bool { present?.sample(at: now) ?? false }
    func prepareNextSample() -> UInt64 { present?.prepareNextSample() ?? .max }
}
