public import LagMonitor

extension StallMonitor {
    /// Watches the pools that run tasks, until ``unwatch(_:)`` or ``stop()``. Before ``start()`` as well: they are watched from then on.
    ///
    /// The default finds every task that keeps its thread for 150 ms or longer, also while other threads are free. It leaves out the pools of the priorities
    /// `low` and `background`, which are for work that takes long: on Linux they have threads of their own, and do not delay the others.
    /// At most 256 threads of all pools are watched at once for ``StallRules/callout``.
    /// - Parameters:
    ///   - priorities: each has a pool of its own on Linux. What `main` starts is `high`, a detached task `medium`, unless it says
    ///     something else.
    ///   - rules: ``StallRules/callout`` for single threads, ``StallRules/ping`` for pools of which no thread is free, or both.
    /// - Returns: the pools, for ``unwatch(_:)`` and ``pause(_:)``; watching once more would watch other ones.
    /// - Throws: what ``watch(_:named:rules:)`` throws, but for ``StallMonitorError/notRunning``; then none of them is watched.
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
