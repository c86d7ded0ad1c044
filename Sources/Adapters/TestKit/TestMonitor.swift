public import Dispatch
public import LagActivity
public import LagMonitor
internal import Synchronization

/// A monitor for tests: the test moves the time and controls the loops. Stalls are reported as by a real monitor: by the same
/// rules, through the same limits, to handlers and sinks.
///
/// ```swift
/// import LagMonitor
/// import LagMonitorTestKit
/// import Testing
///
/// let kit = try TestMonitor()
/// let alerts = AlertBook(kit)                          // what is tested: it takes a StallSource
/// kit.loop("main").work(for: .milliseconds(400), ScriptedWork(.lock))
/// #expect(kit.waitForHandlers())
/// #expect(alerts.titles == ["main: lock"])
/// ```
///
/// Nothing here sleeps or depends on the machine: a record is the same in every run, including its `id` and `time` (the time
/// begins at 2026-01-01T00:00:00Z). It starts no thread. One thread at a time.
public final class TestMonitor: StallSource {
    private struct State {
        var loops: [String: ScriptedLoop] = [:]
    }

    /// What records are built from and where they go; the loops must not refer to the kit itself.
    private final class Storage: Sendable {
        let records = Mutex<[StallRecord]>([])
        let loops = Mutex<[String: WeakLoop]>([:])
    }

    private struct WeakLoop {
        weak var loop: ScriptedLoop?
    }

    private let monitor: ManualMonitor
    private let storage: Storage
    private let memory = MemorySink()
    private let recordQueue = DispatchQueue(label: "LagMonitor.TestMonitor")
    private let state = Mutex(State())

    /// - Parameters:
    ///   - configuration: as for a real monitor.
    ///   - sinks: receive the lines, in addition to ``lines``.
    /// - Throws: for a configuration that ``StallMonitor/start()`` would refuse; for the rules `frame` and `sampling`, which need
    ///   a real thread; if libunwind is missing.
    public init(configuration: StallMonitorConfiguration = .init(), sinks: [any RecordSink] = []) throws(StallMonitorError) {
        let storage = Storage()
        self.storage = storage
        monitor = try ManualMonitor(configuration: configuration, sinks: [memory] + sinks) { record in
            guard let loop = storage.loops.withLock({ $0[record.loop]?.loop }) else { return }
            loop.work(since: record.startMonotonicNanoseconds, for: record.durationNanoseconds).enrich(&record)
        }
        _ = monitor.addHandler(queue: recordQueue, includesSuppressed: false) { record in
            storage.records.withLock { $0.append(record) }
        }
    }

    /// With these rules, and otherwise the default configuration.
    public convenience init(rules: StallRules) throws(StallMonitorError) {
        var configuration = StallMonitorConfiguration()
        configuration.rules = rules
        try self.init(configuration: configuration)
    }

    deinit { monitor.stop() }

    /// The loop of this name; created and watched at its first use. At most 16,384 loops.
    public func loop(_ name: String = "main") -> ScriptedLoop {
        do {
            return try watch(name, rules: nil)
        } catch {
            preconditionFailure("the loop '\(name)' cannot be watched: \(error)")
        }
    }

    /// The same with rules of its own, for a loop that is not watched yet.
    /// - Throws: the errors of ``StallMonitor/watch(_:named:rules:)``.
    @discardableResult
    public func watch(_ name: String, rules: StallRules?) throws(StallMonitorError) -> ScriptedLoop {
        try state.withLock { state throws(StallMonitorError) in
            if let loop = state.loops[name] { return loop }
            let loop = ScriptedLoop(name: name, monitor: monitor)
            loop.beacon.publish(.waiting)
            storage.loops.withLock { $0[name] = WeakLoop(loop: loop) }
            try monitor.watch(loop, rules: rules)
            state.loops[name] = loop
            return loop
        }
    }

    /// Ends the watch of a loop: a stall in progress becomes an `abandoned` record. The next ``loop(_:)`` with its name returns
    /// another one.
    public func unwatch(_ loop: ScriptedLoop) {
        monitor.unwatch(loop)
        state.withLock { if $0.loops[loop.name] === loop { $0.loops[loop.name] = nil } }
    }

    /// The test's time.
    public var now: MonotonicTime { MonotonicTime(nanoseconds: monitor.now) }

    /// Lets time pass: loops that work continue to work, the others are idle.
    public func advance(by duration: Duration) { monitor.advance(by: UInt64(max(0, duration.wholeNanoseconds))) }

    /// The records so far, in order, as handlers receive them.
    public var records: [StallRecord] {
        // The call that moved the time has passed the record to the queue.
        recordQueue.sync {}
        return storage.records.withLock { $0 }
    }

    /// The lines so far, notices included.
    public var lines: [String] { memory.lines }

    /// The records as an asynchronous sequence; it ends with ``stop()``.
    public var stalls: StallSequence { monitor.stalls }

    public var statistics: StallMonitorStatistics { monitor.statistics }

    public var labels: [String: String] { monitor.configuration.labels }

    @discardableResult
    public func onStall(queue: DispatchQueue, _ handler: @escaping @Sendable (StallRecord) -> Void) -> StallHandler {
        monitor.addHandler(queue: queue, includesSuppressed: false, handler)
    }

    @discardableResult
    public func onStall(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ handler: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler {
        monitor.addHandler(queue: queue, includesSuppressed: includesSuppressed, handler)
    }

    /// Waits until every handler has returned from every record so far. Do not call it on a queue that a handler needs.
    /// - Parameter limit: the maximum wait, in real time: a guard against a handler that hangs.
    /// - Returns: false if that time is over.
    public func waitForHandlers(atMost limit: Duration = .seconds(30)) -> Bool {
        let deadline = MonotonicTime.now + limit
        while !monitor.handlersAreDone {
            guard MonotonicTime.now < deadline else { return false }
            // A semaphore posted by the handlers would not work: a cancelled handler never answers.
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(1))
        }
        return true
    }

    /// Ends every watch, like a real monitor's ``StallMonitor/stop()``: stalls in progress become `abandoned` records, and the
    /// sinks are closed.
    public func stop() {
        monitor.stop()
        state.withLock { $0.loops.removeAll() }
    }
}
