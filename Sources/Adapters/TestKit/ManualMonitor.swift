internal import CLagBeacon
internal import Dispatch
internal import LagActivity
internal import LagCapture
internal import LagDetection
internal import LagMonitor
internal import LagOutput
internal import Synchronization

/// A monitor without threads: its watchdog scans when time is moved, and the same call does the reporter's work.
///
/// Everything between a beacon and a handler is the same as in a real monitor; only the clock and the result of a capture come
/// from the caller. For the test kit. Any thread, one call at a time.
final class ManualMonitor: Sendable {
    private struct State: ~Copyable {
        var builder: RecordBuilder
        var steps: ManualWatchdog
        var ids: [StallID: StallID] = [:]
    }

    let configuration: StallMonitorConfiguration
    private let clock: ManualClock
    private let core: MonitorCore
    private let registry: WatchRegistry
    private let queue: EpisodeQueue
    private let handlers = ManualHandlers()
    private let enrich: @Sendable (inout StallRecord) -> Void
    private let state: Mutex<State>

    /// - Parameter enrich: adds to a record what a capture would have found: cause, evidence, frames, culprit.
    /// - Throws: the ``StallMonitorError`` of ``StallMonitor/start()``.
    init(
        configuration: StallMonitorConfiguration,
        sinks: [any RecordSink],
        enrich: @escaping @Sendable (inout StallRecord) -> Void
    ) throws(StallMonitorError) {
        try configuration.validate()
        try Self.check(configuration.rules)
        let capture: ThreadCapture
        do throws(CaptureUnavailable) {
            capture = try ThreadCapture()
        } catch {
            throw .captureUnavailable(reason: error.reason)
        }
        guard let registry = WatchRegistry(), let queue = EpisodeQueue(maximumFrames: 1) else {
            throw .resources(reason: "no memory for the list of watched loops")
        }
        let clock = ManualClock()
        self.configuration = configuration
        self.enrich = enrich
        self.clock = clock
        self.registry = registry
        self.queue = queue
        core = MonitorCore(configuration: configuration, sinks: sinks) { clock.output }
        let watchdog = Watchdog(
            registry: registry,
            queue: queue,
            capture: capture,
            relay: PingRelay(registry: registry),
            clock: { clock.now },
            notify: {}
        )
        state = Mutex(State(builder: RecordBuilder(modules: capture.modules), steps: ManualWatchdog(watchdog)))
        try core.open()
    }

    /// - Throws: for rules that need more than a beacon and a ping.
    private static func check(_ rules: StallRules) throws(StallMonitorError) {
        let reason = "a scripted loop has no thread and does not tick"
        if rules.frame != nil { throw .ruleNotPossible(rule: "frame", reason: reason) }
        if rules.sampling != nil { throw .ruleNotPossible(rule: "sampling", reason: reason) }
    }

    /// The current time, which only ``advance(by:)`` moves.
    var now: UInt64 { clock.now }

    func watch(_ loop: any ObservableLoop, rules: StallRules? = nil) throws(StallMonitorError) {
        let rules = rules ?? configuration.rules
        try rules.validate()
        try Self.check(rules)
        let watchRules = configuration.watchRules(of: rules)
        guard registry.add(loop, name: loop.name, owner: core, rules: watchRules, now: now) != nil else {
            throw .tooManyLoops(limit: WatchRegistry.capacity)
        }
        poll()
    }

    func unwatch(_ loop: any ObservableLoop) {
        if registry.end(loop, of: core) { poll() }
    }

    /// Ends every watch, reports what is left, and closes the sinks.
    func stop() {
        _ = registry.endAll(of: core)
        poll()
        core.close(announcing: true)
        core.subscriptions.finish()
    }

    func addHandler(
        queue: DispatchQueue,
        includesSuppressed: Bool,
        _ body: @escaping @Sendable (StallRecord) -> Void
    ) -> StallHandler {
        let handler = handlers.make(queue: queue, includesSuppressed: includesSuppressed, body)
        core.addHandler(handler)
        return handler
    }

    var stalls: StallSequence { StallSequence(core.subscriptions) }

    /// Whether every handler has finished with the records passed to it.
    var handlersAreDone: Bool { handlers.areDone }

    var statistics: StallMonitorStatistics { core.statistics(of: registry.counters(of: core)) }

    /// Publishes the activity of a loop, as the loop would, and scans if that would have woken the watchdog.
    func publishActivity(of beacon: ActivityBeacon, _ publish: (UInt64) -> Void) {
        let now = clock.now
        let before = beacon.raw.pointee.armed
        publish(now)
        // The bits that the beacon's code cleared are those that it answered; it used the real clock's time for that.
        guard before & ~beacon.raw.pointee.armed != 0 else { return }
        beacon.raw.pointee.answered_ns = now
        if state.withLock({ $0.steps.wantsPosts }) { poll() }
    }

    /// Lets time pass. The watchdog scans whenever its plan requires it.
    func advance(by nanoseconds: UInt64) {
        let end = min(clock.now.saturatingSum(nanoseconds), .max - 1)
        state.withLock { state in
            while state.steps.deadline <= end {
                clock.set(state.steps.deadline)
                poll(&state)
            }
            clock.set(end)
            report(&state)
        }
    }

    /// One scan of every loop, now.
    func poll() { state.withLock { poll(&$0) } }

    private func poll(_ state: inout State) {
        state.steps.scan(at: clock.now)
        report(&state)
    }

    /// What the reporter's thread does.
    private func report(_ state: inout State) {
        let retired = registry.retired()
        while queue.takeSocket() != nil {}
        while let index = queue.takeReady() {
            let episode = queue.episodes[index]
            if let watch = registry.registration(at: episode.facts.watch) {
                var record = state.builder.build(episode, watch, configuration)
                finish(&record, &state)
                handlers.recordDelivery(isSuppressed: !core.deliver(record, registry.counters(of: core)))
            }
            queue.giveFree(index)
        }
        registry.reap(retired)
        core.reopenIfRequested()
        _ = core.emitDueSuppressions { registry.counters(of: core) }
        _ = core.emitLosses()
    }

    /// Makes a test's record complete, and the same in every run.
    private func finish(_ record: inout StallRecord, _ state: inout State) {
        record.startRealtimeNanoseconds = clock.realtime(of: record.startMonotonicNanoseconds)
        let made = StallID(
            startRealtimeNanoseconds: record.startRealtimeNanoseconds,
            randomHigh: 0,
            randomLow: UInt64(state.ids.count + 1)
        )
        let id = state.ids[record.id, default: made]
        state.ids[record.id] = id
        record.id = id
        enrich(&record)
        ManualMonitor.describe(&record)
    }

    /// Gives a record the fingerprint and the message of a real one with these frames and this cause.
    static func describe(_ record: inout StallRecord) {
        record.group(by: record.frames)
        record.message = StallMessage(record).text
    }
}
