internal import CLagBeacon
public import Dispatch
@_exported public import LagActivity
package import LagCapture
package import LagDetection
internal import LagDiagnosis
internal import LagModel
@_exported public import LagOutput
@_exported public import LagRunLoop

/// Watches run loops and reports each stall: how long, why, and where.
///
/// ```swift
/// import LagMonitor
///
/// let monitor = StallMonitor(sinks: [try FileSink(path: "stalls.jsonl")])
/// try monitor.start()
/// try monitor.watch(ObservedRunLoop.main)
/// ```
///
/// A monitored loop is charged one store an activity (under 2 ns). All monitors of a process share one watchdog thread
/// and one reporter thread. Every call is safe from any thread. A monitor that is released while it runs is stopped.
///
/// A child of `fork()` has none of these threads and is not watched; nothing here is for use in it before `exec`.
public final class StallMonitor: Sendable {
    /// Whether this build can find stalls. False on every platform but Linux with glibc: there the package builds, and does nothing.
    public static let isSupported = true

    /// A monitor for those who need only one: default configuration, no sinks, so give it a handler.
    public static let shared = StallMonitor()

    struct State {
        var parts: MonitorEngine.Parts?
        /// The last run, if its lines were still on their way when ``stop()`` gave up waiting.
        var unfinished: MonitorEngine.Parts?
        /// What is to be watched from the next ``start()`` on.
        var deferred: [DeferredWatch] = []
    }

    struct DeferredWatch {
        let loop: any ObservableLoop
        let rules: StallRules
    }

    /// As it was given; it does not change.
    public let configuration: StallMonitorConfiguration
    let core: MonitorCore
    let engine: MonitorEngine
    /// One start or stop at a time. What a stop waits for, a sink or a handler, may ask this monitor something meanwhile, which takes `state` alone.
    private let lifecycle = PthreadMutex(())
    let state = PthreadMutex(State())
    // It is never posted: waiting for it is a sleep on the monotonic clock.
    private let sleepSemaphore = WakeSemaphore()

    /// How long ``stop()`` waits for lines on their way.
    private static let drainNanoseconds: UInt64 = 1_000_000_000
    /// How much of it records may wait for lines; the rest is for writing them.
    private static let lineNanoseconds: UInt64 = 250_000_000
    /// How much longer it waits for the lines that sinks give up at its end (a wait notices within 50 ms) to be counted.
    private static let countingNanoseconds: UInt64 = 250_000_000

    /// - Parameters:
    ///   - configuration: checked by ``start()``.
    ///   - sinks: where lines go. They are opened by their makers, closed by ``stop()``, and opened again by the next ``start()``.
    public init(configuration: StallMonitorConfiguration = .init(), sinks: [any RecordSink] = []) {
        self.configuration = configuration
        core = MonitorCore(configuration: configuration, sinks: sinks)
        engine = .shared
    }

    /// A monitor of another process's loops.
    /// - Parameters:
    ///   - process: as its records say it.
    ///   - running: how its running threads are captured.
    ///   - semaphore: to be posted when one of the beacons answers.
    ///   - externalSampler: reports for loops that publish nothing themselves; nil: their beacons lie in memory that both processes share.
    ///   - languages: knows the frames of languages; nil: all frames are native ones.
    package init(
        of process: ProcessContext,
        running: any RunningThreadCapture.Type,
        semaphore: WakeSemaphore,
        externalSampler: (any ExternalSampler)? = nil,
        languages: (any LanguageFrameSource)? = nil,
        configuration: StallMonitorConfiguration,
        sinks: [any RecordSink]
    ) {
        self.configuration = configuration
        core = MonitorCore(configuration: configuration, sinks: sinks, target: process)
        engine = MonitorEngine(
            target: .init(
                process: process.pid,
                running: running,
                semaphore: semaphore,
                externalSampler: externalSampler,
                languages: languages
            )
        )
    }

    deinit {
        stop()
        // Also of a monitor that never ran.
        core.subscriptions.finish()
    }

    /// Whether ``start()`` was called and ``stop()`` was not.
    public var isRunning: Bool { state.withLock { $0.parts != nil } }

    /// Whether the program's contexts are to be recorded; those of another process are not.
    private var wantsContexts: Bool { configuration.contexts != nil && engine.isOwn }

    /// Starts watching; nothing happens if it runs already. Some milliseconds: it loads libunwind, takes its memory,
    /// starts its threads and goes through a capture once, so that the first stall finds everything ready.
    public func start() throws(StallMonitorError) {
        try configuration.validate()
        guard configuration.symbols == .names || LineSources.areAvailable else {
            throw .invalidConfiguration(key: "symbols", value: "lines", allowed: "names; lines after LineSymbols.enable()")
        }
        guard configuration.format.current.isAvailable else {
            let allowed = "\(RecordFormat.native); others after \(DeliveryParts.remedy)"
            throw .invalidConfiguration(key: "format", value: "\(configuration.format)", allowed: allowed)
        }
        var streams: [@Sendable () -> Void] = []
        defer { for finish in streams { finish() } }
        try lifecycle.withLock { _ throws(StallMonitorError) in
            try begin()
            do throws(StallMonitorError) {
                try watchDeferred()
            } catch {
                // The next start needs them again.
                streams = end()
                throw error
            }
        }
    }

    private func begin() throws(StallMonitorError) {
        try state.withLock { state throws(StallMonitorError) in
            guard state.parts == nil else { return }
            if let last = state.unfinished, last.registry.holds(anythingOf: core) {
                throw .resources(reason: "the last run's records are still being written; a sink or the reporter hangs")
            }
            state.unfinished = nil
            try core.open()
            do throws(StallMonitorError) {
                state.parts = try engine.acquire()
            } catch {
                core.closeSinks()
                throw error
            }
            if wantsContexts { _ = clb_contexts_want() }
        }
    }

    private func watchDeferred() throws(StallMonitorError) {
        let deferred = state.withLock { $0.deferred }
        for watch in deferred { try self.watch(watch.loop, rules: watch.rules) }
        state.withLock { state in state.deferred.removeAll { kept in deferred.contains { $0.loop === kept.loop } } }
    }

    /// Ends every watch; nothing happens if it does not run. Stalls in progress become `abandoned` lines; what is on
    /// its way is written within about a second, without files and lines that are not known within a quarter of it; what a sink
    /// does not take by then is counted as dropped, at the latest when the sink returns. Up to four seconds where a sink or a
    /// queue's pings hang. Afterwards no thread, signal handler, descriptor or loop is held.
    public func stop() {
        // Outside of the lock: resuming a task may run code of its executor, which may call this monitor.
        for finish in lifecycle.withLock({ _ in end() }) { finish() }
    }

    /// - Returns: what ends the sequences of records.
    private func end() -> [@Sendable () -> Void] {
        let running = state.withLock { state -> MonitorEngine.Parts? in
            guard let parts = state.parts else { return nil }
            (state.parts, state.unfinished) = (nil, parts)
            return parts
        }
        guard let parts = running else { return [] }
        let now = clb_now_ns()
        let deadline = now + Self.drainNanoseconds
        let lineDeadline = now + Self.lineNanoseconds
        parts.reporter.limitWaiting(until: lineDeadline)
        core.limitWaiting(until: deadline)
        // First, so that it adds none meanwhile.
        parts.workers?.removeAll(of: core)
        _ = parts.registry.endAll(of: core)
        parts.watchdog.wake()
        // The reporter lets go of the entries after it has written their last lines.
        // Checked once more after the deadline: the process may have been stopped in between.
        var drained = !parts.registry.holds(anythingOf: core)
        while !drained, clb_now_ns() < deadline + Self.countingNanoseconds {
            _ = sleepSemaphore.wait(until: clb_now_ns() + 1_000_000)
            drained = !parts.registry.holds(anythingOf: core)
        }
        core.recordPauses(parts.watchdog.processPauses)
        core.close(announcing: drained)
        if drained { state.withLock { $0.unfinished = nil } }
        if wantsContexts { clb_contexts_unwant() }
        engine.release()
        parts.reporter.liftWaitLimit(lineDeadline)
        return core.subscriptions.takeAll()
    }

    /// Ends the watch of a loop for a while; of every loop that this monitor watches now, when `loop` is nil. A stall in progress
    /// becomes an `abandoned` line. Nothing happens to what is not watched. Any thread.
    public func pause(_ loop: (any ObservableLoop)? = nil) { setPaused(true, loop) }

    /// Goes on after ``pause(_:)``: nothing from before counts.
    public func resume(_ loop: (any ObservableLoop)? = nil) { setPaused(false, loop) }

    private func setPaused(_ paused: Bool, _ loop: (any ObservableLoop)?) {
        state.withLock { state in
            guard let parts = state.parts else { return }
            parts.registry.setPaused(paused, loop, of: core, now: clb_now_ns())
            parts.workers?.setPaused(paused, loop, of: core)
            parts.watchdog.wake()
        }
    }

    /// Ends the watch of a loop; nothing happens if it is not watched. A stall in progress becomes an `abandoned` line.
    public func unwatch(_ loop: any ObservableLoop) {
        state.withLock { state in
            state.deferred.removeAll { $0.loop === loop }
            guard let parts = state.parts else { return }
            parts.workers?.remove(loop, of: core)
            if parts.registry.end(loop, of: core) { parts.watchdog.wake() }
        }
    }

    /// Writes a `begin` line of each stall in progress now, instead of ``StallMonitorConfiguration/hangAfter`` after its beginning: before a
    /// process is ended that may hang (SIGTERM, a liveness kill). A stall that has such a line already gets no other; its end is
    /// reported as ever. Only stalls of at least the threshold count; one that has begun and is shorter is reported when it reaches that.
    ///
    /// Any thread, but no signal handler: it takes a lock, and waits while ``start()`` runs. Else it returns at once; the line is
    /// written by the reporter thread.
    public func reportStallsInProgress() { reportStalls(begunBefore: .now) }

    /// The same of stalls that had begun by then: whoever ends another process does not mean what that leads to.
    package func reportStalls(begunBefore time: MonotonicTime) {
        state.withLock { state in
            guard let parts = state.parts else { return }
            parts.registry.requestReports(of: core, begunBefore: time.nanoseconds)
            parts.watchdog.wake()
        }
    }

    /// Has every reported record delivered to `handler`, next to the JSON lines: one at a time, in order, on `queue` (also when
    /// that queue runs things concurrently). Records that wait for a queue which is itself stuck are bounded
    /// (``StallHandler/capacity``).
    @discardableResult
    public func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler {
        onStall(queue: queue, includesSuppressed: false, handler)
    }

    /// The same, `includesSuppressed` also of the stalls that ``StallMonitorConfiguration/limits`` hold back: for who counts stalls. Their records
    /// have the ``StallRecord/sequence`` 0.
    @discardableResult
    public func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler {
        let registered = StallHandler(queue: queue, includesSuppressed: includesSuppressed, body: handler)
        core.addHandler(registered)
        return registered
    }

    /// The records as an asynchronous sequence: `for await stall in monitor.stalls`. Each iteration has a bounded buffer
    /// (``StallSequence/capacity``) and ends with ``stop()``. Any thread.
    public var stalls: StallSequence { StallSequence(core.subscriptions) }

    /// Asks the sinks to open their files again, as log rotation wants it.
    public func reopenSinks() {
        core.requestReopen()
        state.withLock { $0.parts?.reporter.wake() }
    }

    /// A ``CandidateLoop`` is confirmed: what was withheld of it is reported. Any thread.
    package func reportConfirmed() { state.withLock { $0.parts?.reporter.wake() } }

    /// What happened so far.
    public var statistics: StallMonitorStatistics {
        state.withLock { state in
            if let pauses = state.parts?.watchdog.processPauses { core.recordPauses(pauses) }
            let registry = (state.parts ?? state.unfinished)?.registry
            var statistics = core.statistics(of: registry?.counters(of: core) ?? core.absorbed)
            statistics.tasksUnreadable = state.parts != nil && engine.isOwn && !TaskRuntime.isVerified
            return statistics
        }
    }

    /// Whose loops these are, for messages.
    package var processLabel: String { core.target.map { "\($0.processName) (\($0.pid))" } ?? "this process" }

    /// Has the watchdog scan its loops once, which shows in its counters. Any thread.
    package func wakeWatchdog() { state.withLock { $0.parts?.watchdog.wake() } }

    /// What the process's watchdog has done so far; nil while this monitor does not run. For tests and the benchmark.
    package var watchdogCounters: Watchdog.Counters? { state.withLock { $0.parts?.watchdog.counters } }
}
