package import LagActivity
package import LagDetection
internal import Synchronization

/// A pool whose threads are watched one by one (``StallRules/callout``).
package protocol WorkerPool: ObservableLoop {
    /// The watch of all pools' threads, for the first pool that is watched.
    static func makeWatch(registry: WatchRegistry) -> any PoolWatch
}

/// Finds the threads of watched pools, and samples them. Of the process's engine; made by who has the pools.
package protocol PoolWatch: ExternalSampler {
    /// Watches the threads of a pool for an owner, until ``remove(_:of:)``. Threads that are there are watched when it returns.
    func add(
        _ pool: any WorkerPool,
        name: String,
        owner: any WatchOwner,
        rules: WatchRules,
        _ watchdog: Watchdog
    ) throws(StallMonitorError)

    func remove(_ loop: any ObservableLoop, of owner: any WatchOwner)

    /// Their watches are ended by whoever calls this.
    func removeAll(of owner: any WatchOwner)

    /// Pauses or resumes the watch of a pool's threads; of all pools of that owner when `loop` is nil.
    func setPaused(_ isPaused: Bool, _ loop: (any ObservableLoop)?, of owner: any WatchOwner)

    /// Ends its thread. The watchdog does not run any more, or hangs.
    func stop(until deadline: UInt64)
}

/// The watch of pools' threads from the first pool on: the watchdog, which samples by it, is there before that.
final class LatePoolWatch: PoolWatch {
    private final class Made: Sendable {
        let watch: any PoolWatch

        init(_ watch: any PoolWatch) { self.watch = watch }
    }

    private let registry: WatchRegistry
    private let made = AtomicLazyReference<Made>()

    init(registry: WatchRegistry) { self.registry = registry }

    /// Nil: no pool was watched. No lock.
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
