public import LagActivity

// What others ask of a loop to see whether it answers, and what it publishes about its own blocking.
extension ObservedRunLoop {
    /// Has the loop call its beacon's ``ActivityBeacon/pong()``, in whatever mode it runs and however deep its runs are nested: where
    /// it takes submitted work, before that work. Any thread.
    ///
    /// A sleeping loop makes one turn for it. Nothing else changes: a ping is no handled source, and no reason for a run to go on.
    /// Pings not yet answered are answered once. A loop that does not run answers when it next runs; one that has ended never does.
    /// Cost: two atomic operations, and a system call when the loop sleeps; no lock, no memory.
    public func ping() {
        signals.add(.pings)
        signals.wakeUp()
    }

    /// True: ``ping()`` is for the watchdog itself.
    public var pingsWithoutLocking: Bool { true }

    /// Has `tick` called on the loop every `interval`, on the grid that begins now. Any thread.
    ///
    /// It ticks in every mode, common or not, and in nested runs. Missed ticks are skipped, later ones stay on the grid. A tick is
    /// no handled source, and a mode with nothing but ticks has nothing to wait for: its run ends as it would without them.
    /// - Parameters:
    ///   - interval: less than a millisecond is taken as one.
    ///   - tick: on the loop's thread, a callout of its own; released with the ticks.
    /// - Returns: what ends the ticks, by ``LoopTicker/cancel()`` or by its release; nil when the loop has ended with its thread.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        let timer = RunLoopTimer(tickingEvery: max(interval, .milliseconds(1))) { _ in tick() }
        return addToEveryMode(timer) ? RunLoopTicker(timer) : nil
    }

    /// Runs `body`, which is expected to block, on the loop's thread: whoever watches the loop takes the time in it for a rest, and
    /// what comes after it for a new piece of work.
    ///
    /// ```swift
    /// import LagMonitor
    ///
    /// try loop.expectingBlock { try database.open() }
    /// ```
    /// Scopes may be nested; the outermost counts. A run inside it is a run like any other, and its callouts are watched as ever. On
    /// any other thread, and while the loop does not run, `body` just runs: there is nothing to keep out. Some 100 ns.
    /// - Throws: what `body` throws.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard isCurrent, own.activity.isWorking else { return try body() }
        let outer = own.activity
        // A run inside the scope comes back to this.
        own.activity = .expected
        defer { own.activity = outer }
        return try beacon.expectingBlock(body)
    }
}

final class RunLoopTicker: LoopTicker {
    private let timer: RunLoopTimer

    init(_ timer: RunLoopTimer) { self.timer = timer }

    deinit { cancel() }

    func cancel() { timer.invalidate() }
}
