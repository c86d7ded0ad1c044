public import LagActivity

// The loop's answers to watchers, and what it publishes about its own blocking.
extension ObservedRunLoop {
    /// Makes the loop call its beacon's ``ActivityBeacon/pong()``, in whatever mode it runs and however deep its runs are nested:
    /// at the point where it takes submitted work, before that work. Any thread.
    ///
    /// A sleeping loop makes one turn for it. Nothing else changes: a ping is not a handled source, and does not keep a run
    /// going. Several unanswered pings get one answer. A loop that does not run answers when it next runs; a loop that has ended
    /// never answers. Cost: two atomic operations, and a system call if the loop sleeps; no lock, no allocation.
    public func ping() {
        signals.add(.pings)
        signals.wakeUp()
    }

    /// True: the watchdog itself may call ``ping()``.
    public var pingsWithoutLocking: Bool { true }

    /// Calls `tick` on the loop every `interval`, on the grid that begins now. Any thread.
    ///
    /// It ticks in every mode, common or not, and in nested runs. Missed ticks are skipped; later ones stay on the grid. A tick
    /// is not a handled source, and a mode with nothing but ticks has nothing to wait for: its run ends as it would without them.
    /// - Parameters:
    ///   - interval: less than a millisecond is taken as one millisecond.
    ///   - tick: runs on the loop's thread, as a separate callout; released with the ticks.
    /// - Returns: an object that ends the ticks, by ``LoopTicker/cancel()`` or by its release; nil if the loop has ended with its
    ///   thread.
    public func startTicking(every interval: Duration, _ tick: @escaping @Sendable () -> Void) -> (any LoopTicker)? {
        let timer = RunLoopTimer(tickingEvery: max(interval, .milliseconds(1))) { _ in tick() }
        return addToEveryMode(timer) ? RunLoopTicker(timer) : nil
    }

    /// Runs `body`, which is expected to block, on the loop's thread: watchers count this time as idle, and what follows as a new
    /// piece of work.
    ///
    /// ```swift
    /// import LagMonitor
    ///
    /// try loop.expectingBlock { try database.open() }
    /// ```
    /// Scopes may be nested; the outermost counts. A run inside a scope is an ordinary run, and its callouts are watched as
    /// usual. On any other thread, and while the loop does not run, `body` just runs. Some 100 ns.
    /// - Throws: what `body` throws.
    @discardableResult
    public func expectingBlock<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
        guard isCurrent, own.activity.isWorking else { return try body() }
        let outer = own.activity
        // A run inside the scope returns to this.
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
