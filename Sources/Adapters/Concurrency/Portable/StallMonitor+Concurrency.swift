public import LagMonitor

extension StallMonitor {
    /// Watches the pools that run tasks, until ``unwatch(_:)`` or ``stop()``.
    /// - Parameters:
    ///   - priorities: each has a pool of its own on Linux. What `main` starts is `high`, a detached task `medium`, unless it says
    ///     something else.
    ///   - rules: ``StallRules/ping`` is needed.
    /// - Returns: the pools, for ``unwatch(_:)`` and ``pause(_:)``; watching once more would watch other ones.
    /// - Throws: what ``watch(_:named:rules:)`` throws; then none of them is watched.
    @discardableResult
    public func watchConcurrencyPool(
        _ priorities: [TaskPriority] = [.high, .medium, .low, .background],
        rules: StallRules = .pings
    ) throws(StallMonitorError) -> [ConcurrencyPool] {
        let pools = priorities.map { ConcurrencyPool($0) }
        do throws(StallMonitorError) {
            for pool in pools { try watch(pool, rules: rules) }
        } catch {
            for pool in pools { unwatch(pool) }
            throw error
        }
        return pools
    }
}
