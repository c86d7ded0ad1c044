public import LagMonitor

extension StallMonitor {
    /// Watches the pools that run tasks, until ``unwatch(_:)`` or ``stop()``. It may be called before ``start()``: then the watch
    /// begins with the start.
    ///
    /// The default finds every task that keeps its thread for 150 ms or longer, even while other threads are free. It leaves out
    /// the pools of the priorities `low` and `background`, which are for work that takes long: on Linux they have separate
    /// threads, and do not delay the others. At most 256 threads of all pools are watched at once for ``StallRules/callout``.
    /// - Parameters:
    ///   - priorities: each has a separate pool on Linux. What `main` starts is `high`, a detached task `medium`, unless it sets
    ///     something else.
    ///   - rules: ``StallRules/callout`` for single threads, ``StallRules/ping`` for pools without a free thread, or both.
    /// - Returns: the pools, for ``unwatch(_:)`` and ``pause(_:)``; watching again would watch other objects.
    /// - Throws: the errors of ``watch(_:named:rules:)``, except ``StallMonitorError/notRunning``; then none of them is watched.
    @discardableResult
    public func watchConcurrencyPool(
        _ priorities: [TaskPriority] = [.high, .medium],
        rules: StallRules = .jobs
    ) throws(StallMonitorError) -> [ConcurrencyPool] {
        let pools = priorities.map { ConcurrencyPool($0) }
        do throws(StallMonitorError) {
            for pool in pools { try watchFromStart(pool, rules: rules) }
        } catch {
            for pool in pools { unwatch(pool) }
            throw error
        }
        return pools
    }
}
