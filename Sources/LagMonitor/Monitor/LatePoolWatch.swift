internal import LagActivity
internal import LagDetection
internal import Synchronization

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
