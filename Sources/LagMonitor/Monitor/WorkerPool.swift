package import LagActivity
package import LagDetection

/// A pool whose threads are watched one by one (``StallRules/callout``).
package protocol WorkerPool: ObservableLoop {
    /// The watch of all pools' threads, for the first pool that is watched.
    static func makeWatch(registry: WatchRegistry) -> any PoolWatch
}
