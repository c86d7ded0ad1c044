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
/// Each activity costs a monitored loop one store (under 2 ns). All monitors of a process share one watchdog thread and one
/// reporter thread. Every call is safe from any thread. A monitor that is released while it runs is stopped.
///
/// A child of `fork()` has none of these threads and is not watched; do not use anything here in it before `exec`.
public final class StallMonitor: Sendable {
    /// Whether this build can find stalls. On every platform except Linux with glibc the package builds and does nothing: false.
    public static let isSupported = true

    /// A monitor for programs that need only one: default configuration and no sinks, so give it a handler.
    public static let shared = StallMonitor()

    struct State {
        var parts: MonitorEngine.Parts?
        /// The last run, if its lines were still pending when ``stop()`` gave up waiting.
        var unfinished: MonitorEngine.Parts?
        /// Loops to be watched from the next ``start()`` on.
        var deferred: [DeferredWatch] = []
    }

    struct DeferredWatch {
        let loop: any ObservableLoop
        let rules: StallRules
    }

    /// As passed to the initializer; it does not change.
    public let configuration: StallMonitorConfiguration
    let core: MonitorCore
    let engine: MonitorEngine
    /// One start or stop at a time. Sinks and handlers that a stop waits for may query this monitor: that takes `state` only.
    private let lifecycle = PthreadMutex(())
    let state = PthreadMutex(State())
    // It is never posted: waiting for it is a sleep on the monotonic clock.
    private let sleepSemaphore = WakeSemaphore()

    /// - Parameters:
    ///   - configuration: checked by ``start()``.
    ///   - sinks: where lines go. Their creators open them, ``stop()`` closes them, and the next ``start()`` opens them again.
    public init(configuration: StallMonitorConfiguration = .init(), sinks: [any RecordSink] = []) {
        self.configuration = configuration
        core = MonitorCore(configuration: configuration, sinks: sinks)
        engine = .shared
    }

    /// A monitor of another process's loops.
    /// - Parameters:
    ///   - process: its name and id in the records.
    ///   - running: how its running threads are captured.
    ///   - semaphore: posted when one of the beacons answers.
    ///   - externalSampler: reports for loops that publish nothing themselves; nil: their beacons are in memory that both
    ///     processes share.
    ///   - languages: reads the frames of languages; nil: all frames are native ones.
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
        // Even if the monitor never ran.
        core.subscriptions.finish()
    }

    /// Whether ``start()`` was called and ``stop()`` was not.
    public var isRunning: Bool { state.withLock { $0.parts != nil } }

    /// Whether the program's contexts are to be recorded; those of another process are not.
    private var wantsContexts: Bool { configuration.contexts != nil && engine.isOwn }

    /// Starts watching; nothing happens if it runs already. Takes some milliseconds: it loads libunwind, allocates its memory,
    /// starts its threads and performs one capture, so that everything is ready for the first stall.
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

    /// Ends every watch; nothing happens if it does not run. Stalls in progress become `abandoned` lines. Pending lines are
    /// written within about a second, or within four on a machine without free processors; files and lines that are not known
    /// within a quarter of a second are left out. What a sink does not accept within a second is counted as dropped, at the
    /// latest when the sink returns. If a sink or a queue's pings hang, or the machine has no free processors, the last monitor's
    /// stop also waits up to a second for each of its threads (four). Afterwards it holds no thread, signal handler, descriptor or
    /// loop.
    public func stop() {
        // Outside the lock: resuming a task may run code of its executor, which may call this monitor.
        for finish in lifecycle.withLock({ _ in end() }) { finish() }
    }

    /// - Returns: functions that end the sequences of records.
    private func end() -> [@Sendable () -> Void] {
        let running = state.withLock { state -> MonitorEngine.Parts? in
            guard let parts = state.parts else { return nil }
            (state.parts, state.unfinished) = (nil, parts)
            return parts
        }
        guard let parts = running else { return [] }
        let wait = StopWait(begun: clb_now_ns())
        parts.reporter.limitWaiting(until: wait.lineDeadline)
        core.limitWaiting(until: wait.sinkDeadline)
        // First, so that it adds none meanwhile.
        parts.workers?.removeAll(of: core)
        _ = parts.registry.endAll(of: core)
        parts.watchdog.wake()
        // The reporter releases the entries after it has written their last lines. Check once more after the deadline: the
        // process may have been stopped in between.
        var drained = !parts.registry.holds(anythingOf: core)
        while !drained, !wait.isOver(at: clb_now_ns(), writingSince: parts.reporter.writingSince) {
            _ = sleepSemaphore.wait(until: clb_now_ns() + 1_000_000)
            drained = !parts.registry.holds(anythingOf: core)
        }
        core.recordPauses(parts.pauses)
        core.close(announcing: drained)
        if drained { state.withLock { $0.unfinished = nil } }
        if wantsContexts { clb_contexts_unwant() }
        engine.release()
        parts.reporter.liftWaitLimit(wait.lineDeadline)
        return core.subscriptions.takeAll()
    }

    /// Pauses the watch of a loop; of every loop that this monitor watches now, if `loop` is nil. A stall in progress becomes an
    /// `abandoned` line. Loops that are not watched are not affected. Any thread.
    public func pause(_ loop: (any ObservableLoop)? = nil) { setPaused(true, loop) }

    /// Resumes after ``pause(_:)``: nothing from before counts.
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

    /// Writes a `begin` line for each stall in progress now, without waiting for ``StallMonitorConfiguration/hangAfter``. Use it
    /// before ending a process that may hang (SIGTERM, a liveness kill). A stall that already has such a line gets no second one;
    /// its end is reported as usual. Only stalls of at least the threshold count; a shorter one is reported when it reaches the
    /// threshold.
    ///
    /// Any thread, but not a signal handler: it takes a lock, and waits while ``start()`` runs. Otherwise it returns at once; the
    /// reporter thread writes the line.
    public func reportStallsInProgress() { reportStalls(begunBefore: .now) }

    /// The same for stalls that had begun by then: stalls caused by ending the process are excluded.
    package func reportStalls(begunBefore time: MonotonicTime) {
        state.withLock { state in
            guard let parts = state.parts else { return }
            parts.registry.requestReports(of: core, begunBefore: time.nanoseconds)
            parts.watchdog.wake()
        }
    }

    /// Delivers every reported record to `handler`, in addition to the JSON lines: one at a time, in order, on `queue` (even if
    /// that queue is concurrent). The number of records that wait for a stuck queue is bounded (``StallHandler/capacity``).
    @discardableResult
    public func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler {
        onStall(queue: queue, includesSuppressed: false, handler)
    }

    /// The same. With `includesSuppressed` it also delivers the stalls that ``StallMonitorConfiguration/limits`` hold back, for
    /// code that counts stalls. Their records have the ``StallRecord/sequence`` 0.
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

    /// Makes the sinks open their files again, as log rotation requires.
    public func reopenSinks() {
        core.requestReopen()
        state.withLock { $0.parts?.reporter.wake() }
    }

    /// A ``CandidateLoop`` is confirmed: its withheld records are reported. Any thread.
    package func reportConfirmed() { state.withLock { $0.parts?.reporter.wake() } }

    /// The counts so far.
    public var statistics: StallMonitorStatistics {
        state.withLock { state in
            if let pauses = state.parts?.pauses { core.recordPauses(pauses) }
            let registry = (state.parts ?? state.unfinished)?.registry
            var statistics = core.statistics(of: registry?.counters(of: core) ?? core.absorbed)
            statistics.tasksUnreadable = state.parts != nil && engine.isOwn && !TaskRuntime.isVerified
            return statistics
        }
    }

    /// The process of these loops, for messages.
    package var processLabel: String { core.target.map { "\($0.processName) (\($0.pid))" } ?? "this process" }

    /// Makes the watchdog scan its loops once, which shows in its counters. Any thread.
    package func wakeWatchdog() { state.withLock { $0.parts?.watchdog.wake() } }

    /// The counters of the process's watchdog; nil while this monitor does not run. For tests and the benchmark.
    package var watchdogCounters: Watchdog.Counters? { state.withLock { $0.parts?.watchdog.counters } }
}
