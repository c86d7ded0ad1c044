package import LagActivity
package import LagDetection

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
