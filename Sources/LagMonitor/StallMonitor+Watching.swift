internal import CLagBeacon
public import LagActivity
internal import LagDetection
internal import LagModel

/// How the watch of a loop begins, and what belongs to it.
extension StallMonitor {
    /// Watches a loop until ``unwatch(_:)``, ``stop()``, or its thread's end. Watching it again changes nothing.
    /// - Parameters:
    ///   - loop: kept until the watch ends.
    ///   - name: the value of `loop` in records; the loop's own name when nil.
    ///   - rules: what counts as a stall of this loop; the configuration's rules when nil.
    /// - Throws: ``StallMonitorError/notRunning``; ``StallMonitorError/tooManyLoops(limit:)`` beyond 16,384;
    ///   ``StallMonitorError/invalidConfiguration(key:value:allowed:)``; ``StallMonitorError/ruleNotPossible(rule:reason:)`` if the
    ///   loop does not support what a rule requires.
    public func watch(
        _ loop: any ObservableLoop,
        named name: String? = nil,
        rules: StallRules? = nil
    ) throws(StallMonitorError) {
        let rules = rules ?? configuration.rules
        try rules.validate()
        try state.withLock { state throws(StallMonitorError) in
            guard let parts = state.parts else { throw .notRunning }
            guard !parts.registry.isWatched(loop, by: core) else { return }
            var rules = rules
            if let pool = loop as? any WorkerPool, rules.callout != nil {
                try watchWorkers(of: pool, named: name, rules, parts)
                rules.callout = nil
                guard rules != .empty else { return }
            }
            do throws(StallMonitorError) {
                try add(loop, named: name ?? loop.name, rules, parts)
            } catch {
                // Either all of a pool is watched, or nothing.
                parts.workers?.remove(loop, of: core)
                throw error
            }
            parts.watchdog.wake()
            // Report now what an earlier process left, not with the first stall.
            if configuration.unfinishedPath != nil { parts.reporter.wake() }
        }
    }

    private func add(
        _ loop: any ObservableLoop,
        named name: String,
        _ rules: StallRules,
        _ parts: MonitorEngine.Parts
    ) throws(StallMonitorError) {
        let helpers = try Self.helpers(of: loop, for: rules, parts)
        let index = parts.registry.add(
            loop,
            name: name,
            owner: core,
            rules: configuration.watchRules(of: rules),
            ticks: helpers?.ticks,
            ticker: helpers?.ticker,
            mirror: engine.isOwn ? BeaconMirror(of: loop, named: name) : nil,
            now: clb_now_ns(),
            // An earlier watch may have reported it. A process that is watched from outside always began earlier.
            ignoresEarlier: engine.isOwn
        )
        guard index != nil else {
            helpers?.ticker.cancel()
            throw .tooManyLoops(limit: WatchRegistry.capacity)
        }
    }

    /// The same for a loop that may be added before ``start()``: then its watch begins with the start.
    package func watchFromStart(_ loop: any ObservableLoop, rules: StallRules) throws(StallMonitorError) {
        try rules.validate()
        let isDeferred = state.withLock { state in
            guard state.parts == nil else { return false }
            state.deferred.append(DeferredWatch(loop: loop, rules: rules))
            return true
        }
        if !isDeferred { try watch(loop, rules: rules) }
    }

    /// Runs `body` on the calling thread, whose loop is expected to block meanwhile: this does not count as a stall. What follows
    /// is counted as separate work. Some 50 ns on a run loop, 0.2 µs elsewhere, and 100 ns for each queue, event loop and pool
    /// that can be watched.
    ///
    /// This applies to the ``ObservedRunLoop`` that runs here, and to whatever else this thread works for: a serial queue
    /// (``PingedQueue``); an event loop of SwiftNIO; the concurrency pool. While one of the pool's threads is in such a scope, no
    /// answer is expected of the pool, and the job that runs here does not count as too long. For a concurrent queue this is not
    /// possible. A `FoundationLoop` has a method of this name. On any other thread, `body` runs and nothing else happens.
    @discardableResult
    public static func expectingBlock<Result, Failure: Error>(
        _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let scopes = ExpectedBlockScope.here
        for scope in scopes { scope.begin() }
        defer { for scope in scopes { scope.end() } }
        guard let loop = ObservedRunLoop.running else { return try ExpectedBlocks.run(body) }
        return try loop.expectingBlock(body)
    }

    /// Ticks a second that a loop reached in the last full second; nil if it is not watched by ``StallRules/frame``, or not for
    /// long enough. Any thread.
    public func frameRate(of loop: any ObservableLoop) -> Double? {
        state.withLock { $0.parts?.registry.ticks(of: loop, by: core)?.rate }
    }

    /// Watches each thread of a pool individually: its present and future threads.
    private func watchWorkers(
        of pool: any WorkerPool,
        named name: String?,
        _ rules: StallRules,
        _ parts: MonitorEngine.Parts
    ) throws(StallMonitorError) {
        var own = StallRules.empty
        own.callout = rules.callout
        guard rules.starvationThreshold == nil, rules.sampling == nil else {
            let rule = rules.sampling == nil ? "starvation" : "sampling"
            throw .ruleNotPossible(rule: rule, reason: "the threads of '\(pool.name)' are sampled: only callout applies to them")
        }
        guard let workers = parts.workers else {
            throw .ruleNotPossible(rule: "callout", reason: "'\(pool.name)' is a pool of this process")
        }
        try workers.add(
            pool,
            name: name ?? pool.name,
            owner: core,
            rules: configuration.watchRules(of: own),
            parts.watchdog
        )
    }

    /// What the rules need besides the beacon: the ping thread, the ticks.
    private static func helpers(
        of loop: any ObservableLoop,
        for rules: StallRules,
        _ parts: MonitorEngine.Parts
    ) throws(StallMonitorError) -> (ticks: TickCell, ticker: any LoopTicker)? {
        if !loop.publishesActivity, rules.ping == nil, rules.frame == nil {
            let reason = "'\(loop.name)' publishes no activities, so only the rules ping and frame apply"
            throw .ruleNotPossible(rule: "callout", reason: reason)
        }
        if rules.ping != nil || rules.pingWhileWaiting != nil {
            guard let pingable = loop as? any PingableLoop else {
                throw .ruleNotPossible(rule: "ping", reason: "'\(loop.name)' is not a PingableLoop")
            }
            if !pingable.pingsWithoutLocking { try parts.startPings() }
        }
        if rules.sampling != nil, loop.thread.tid == 0 {
            throw .ruleNotPossible(rule: "sampling", reason: "the thread of '\(loop.name)' is not known")
        }
        guard let frame = rules.frame else { return nil }
        guard let ticking = loop as? any TickingLoop else {
            throw .ruleNotPossible(rule: "frame", reason: "'\(loop.name)' is not a TickingLoop")
        }
        let ticks = TickCell()
        guard let ticker = ticking.startTicking(every: frame.period, { ticks.tick() }) else {
            throw .ruleNotPossible(rule: "frame", reason: "'\(loop.name)' has ended")
        }
        return (ticks, ticker)
    }
}
