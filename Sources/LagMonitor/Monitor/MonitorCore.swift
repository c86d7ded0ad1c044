internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
package import LagDetection
internal import LagModel
package import LagOutput
internal import LagRunLoop
internal import Synchronization

/// A monitor's configuration, sinks, handlers and counts. Shared with the reporter, which so never retains the StallMonitor.
// Unchecked: `outputs`, `sequence`, `limiter`, `recurrences`, `incidents` and `unfinished` belong to the reporter thread
// (one at a time), and then to the code that closes this core. The rest is atomic, in a Mutex, or immutable.
package final class MonitorCore: WatchOwner, @unchecked Sendable {
    /// The count is per process.
    private let contextsRefusedBefore = clb_context_refused()
    private struct Shared {
        var absorbed = WatchCounters()
        var pauses = StallMonitorStatistics.Pauses()
    }

    let configuration: StallMonitorConfiguration
    /// The iterations over the records.
    package let subscriptions = StallSubscriptions()
    private let sinks: [any RecordSink]
    private let handlers: RecordHandlers
    private var outputs: [RecordOutput] = []
    private var sequence: UInt64 = 0
    private var countedDropped: UInt64 = 0
    /// Records that every sink has accepted, and how many of them were abandoned later.
    private var taken: UInt64 = 0
    private var countedAbandoned: UInt64 = 0
    private var limiter: RecordLimiter
    private var recurrences: RecurrenceDetector?
    private var incidents = IncidentTracker()
    private var unfinished: UnfinishedStalls?
    /// Nil: the program adds nothing.
    private let hostState: HostState?
    private let clock: @Sendable () -> OutputTime
    /// The process whose stalls these are; nil: this process.
    let target: ProcessContext?
    private let shared = PthreadMutex(Shared())
    private let suppressedStalls = Atomic<UInt64>(0)
    private let recurring = Atomic<UInt64>(0)
    private let reported = Atomic<UInt64>(0)
    private let lost = Atomic<UInt64>(0)
    private let isReopenRequested = Atomic<Bool>(false)

    /// - Parameters:
    ///   - target: the process whose stalls these are; nil: this one.
    ///   - clock: the current time; for tests.
    package init(
        configuration: StallMonitorConfiguration,
        sinks: [any RecordSink],
        target: ProcessContext? = nil,
        clock: @escaping @Sendable () -> OutputTime = { .now() }
    ) {
        self.configuration = configuration
        self.sinks = sinks
        handlers = RecordHandlers(sinks)
        self.clock = clock
        self.target = target
        limiter = configuration.limits.limiter
        recurrences = configuration.recurrence?.detector
        hostState = configuration.onStallBegin.map { HostState($0) }
    }

    /// Called before the reporter knows this core.
    package func open() throws(StallMonitorError) {
        // For other processes, the starting code has checked the path; if the folder breaks later, their watch continues.
        if target == nil, let path = configuration.unfinishedPath,
            let why = UnfinishedPath(path).obstacle(besides: sinks.map(\.name))
        {
            throw .sinkUnavailable(reason: "stalls in progress cannot be kept at \(path): \(why)")
        }
        for sink in sinks {
            sink.limitWaiting(until: nil)
            do throws(SinkError) { try sink.resume() } catch { throw .sinkUnavailable(reason: error.description) }
        }
        guard outputs.isEmpty else { return }
        let limits = try configuration.checkedLineLimits()
        var context =
            target
            ?? ProcessContext.current(
                serviceName: configuration.serviceName,
                serviceVersion: configuration.serviceVersion
            )
        if target == nil { context.readResource() }
        context.labels = try configuration.checkedLabels()
        outputs = sinks.map {
            let format = ($0.format ?? configuration.format).current
            let limits = $0.keptLines == nil ? limits : limits.leavingRoomForLateField(in: format)
            return RecordOutput(encoder: RecordEncoder(context: context, limits: limits, format: format), sink: $0)
        }
        unfinished = configuration.unfinishedPath.map {
            UnfinishedStalls(
                path: $0,
                bootID: context.bootID,
                maxLineBytes: configuration.maxLineBytes,
                isShared: target != nil
            )
        }
    }

    /// Releases the sinks' descriptors; nothing was written.
    func closeSinks() { for sink in sinks { sink.close() } }

    package func addHandler(_ handler: StallHandler) { handlers.add(handler) }

    /// Any thread: the reporter reopens the sinks before its next line.
    func requestReopen() { isReopenRequested.store(true, ordering: .releasing) }

    /// From now on no sink waits beyond this time.
    func limitWaiting(until deadline: UInt64) {
        for sink in sinks { sink.limitWaiting(until: MonotonicTime(nanoseconds: deadline)) }
    }

    package func absorb(_ counters: WatchCounters) { shared.withLock { $0.absorbed += counters } }

    package var absorbed: WatchCounters { shared.withLock { $0.absorbed } }

    /// - Parameter sum: the counts of everything watched so far.
    package func statistics(of sum: WatchCounters) -> StallMonitorStatistics {
        var statistics = StallMonitorStatistics()
        statistics.stalls = sum.stalls
        statistics.suppressed = suppressed(sum)
        statistics.recurring = recurring.load(ordering: .relaxed)
        statistics.dismissed = sum.dismissed
        statistics.pauses = shared.withLock { $0.pauses }
        statistics.dropped = sum.dropped + lost.load(ordering: .relaxed)
        statistics.reported = reported.load(ordering: .relaxed)
        statistics.contextsRefused = clb_context_refused().saturatingDifference(contextsRefusedBefore)
        return statistics
    }

    /// The process pauses that were noticed so far; kept for after the watchdog's end.
    func recordPauses(_ pauses: ProcessPauses) {
        shared.withLock { $0.pauses = StallMonitorStatistics.Pauses(pauses) }
    }

    // MARK: Reporter thread

    package func reopenIfRequested() {
        guard isReopenRequested.exchange(false, ordering: .acquiringAndReleasing) else { return }
        // A sink that cannot be reopened reports this at the next write, where the loss is counted.
        for sink in sinks { try? sink.reopen() }
    }

    /// Reports a record, or holds it back.
    /// - Parameter sum: the counts of everything watched so far.
    /// - Returns: whether it was reported.
    @discardableResult
    package func deliver(_ record: StallRecord, _ sum: WatchCounters) -> Bool {
        reopenIfRequested()
        let now = clock()
        var record = record
        record.incident = incidents.incident(of: record)
        if let hostState { record.state = hostState.fields(of: record.id) }
        defer { if record.phase == .begin { keep(record) } else { settle(record.id) } }
        // Without a stack, all stalls look alike.
        let recurrence = record.capture == .none ? nil : recurrences?.observe(record, at: now.monotonicNanoseconds)
        let isReported: Bool
        switch limiter.decide(record, at: now.monotonicNanoseconds) {
        case .emit(let ended):
            if let ended { emit(ended, sum, now) }
            emit(record, sum, now)
            isReported = true
        case .suppress:
            isReported = false
            suppressedStalls.store(limiter.suppressedTotal, ordering: .relaxed)
            record.suppressedTotal = suppressed(sum)
            record.droppedTotal = sum.dropped + lost.load(ordering: .relaxed)
            handlers.deliver(record, isSuppressed: true)
        }
        handlers.observe(record)
        if let recurrence { emit(recurrence, now) }
        return isReported
    }

    private func emit(_ record: StallRecord, _ sum: WatchCounters, _ now: OutputTime) {
        var record = record
        sequence += 1
        record.sequence = sequence
        record.suppressedTotal = suppressed(sum)
        let fresh = sum.dropped.saturatingDifference(countedDropped)
        var isTaken = true
        for index in outputs.indices {
            outputs[index].countDropped(fresh, reason: .queueFull)
            do throws(SinkError) { try outputs[index].write(record, now: now) } catch { isTaken = false }
        }
        countedDropped += fresh
        if isTaken { taken += 1 }
        updateLossCount()
        record.droppedTotal = sum.dropped + lost.load(ordering: .relaxed)
        handlers.deliver(record)
        subscriptions.deliver(record)
    }

    /// A stall began, or was reported while it lasts: it is kept in case the process dies during the stall.
    func keep(_ record: StallRecord) {
        var record = record
        record.sequence = sequence + 1
        unfinished?.keep(record, &outputs, at: clock().monotonicNanoseconds)
    }

    /// A stall was recognised: the program may add to its record.
    func askHost(about record: StallRecord) { hostState?.ask(about: record) }

    /// The stall is over and no longer kept.
    func settle(_ id: StallID) {
        hostState?.forget(id)
        unfinished?.settle(id, &outputs, at: clock().monotonicNanoseconds)
    }

    /// Reports what earlier processes left, once, and updates what is in progress.
    /// - Returns: the time of the next call (`CLOCK_MONOTONIC`); `.max` while nothing is in progress.
    func emitUnfinished() -> UInt64 {
        let now = clock()
        guard let recovered = unfinished?.emitRecovered(&outputs, now) else { return .max }
        taken += recovered
        updateLossCount()
        return unfinished?.refresh(&outputs, at: now.monotonicNanoseconds) ?? .max
    }

    /// Reports what was held back of stalls that have not recurred since.
    /// - Parameter sum: the counts of everything watched so far; called only if there is something to report.
    /// - Returns: the time of the next report (`CLOCK_MONOTONIC`); `.max` when nothing is held back.
    package func emitDueSuppressions(_ sum: () -> WatchCounters) -> UInt64 {
        guard let deadline = limiter.deadline else { return .max }
        let now = clock()
        guard deadline <= now.monotonicNanoseconds else { return deadline }
        let sum = sum()
        while let due = limiter.takeDue(at: now.monotonicNanoseconds) { emit(due, sum, now) }
        updateLossCount()
        return limiter.deadline ?? .max
    }

    /// Reports losses that no later line has reported, when it is time to try again.
    /// - Returns: the time of the next call (`CLOCK_MONOTONIC`); `.max` when nothing is left.
    package func emitLosses() -> UInt64 {
        guard !outputs.isEmpty else { return .max }
        let now = clock()
        var deadline = UInt64.max
        for index in outputs.indices { deadline = min(deadline, outputs[index].retryAnnouncement(now: now)) }
        updateLossCount()
        return deadline
    }

    private func emit(_ suppression: Suppression, _ sum: WatchCounters, _ now: OutputTime) {
        let notice = Notice(.suppressed(suppression, total: suppressed(sum)), time: now)
        for index in outputs.indices { try? outputs[index].write(notice) }
    }

    private func emit(_ recurrence: Recurrence, _ now: OutputTime) {
        recurring.add(1, ordering: .relaxed)
        let notice = Notice(.recurring(recurrence), time: now)
        for index in outputs.indices { try? outputs[index].write(notice) }
        updateLossCount()
    }

    /// Held back so far, by a restore interval and by the limits.
    private func suppressed(_ sum: WatchCounters) -> UInt64 { sum.suppressed + suppressedStalls.load(ordering: .relaxed) }

    /// What the sinks lost. Their totals include what the watchdog had to drop, which is counted elsewhere.
    private func updateLossCount() {
        let sum = outputs.reduce(0) { $0 + ($1.droppedTotal - countedDropped) }
        lost.store(sum, ordering: .relaxed)
        // A record counts as reported when no sink can lose it any more, so it is never counted as lost as well. Notices in a
        // sink's queue count as records until they arrive, and correct nothing.
        let abandoned = outputs.reduce(0) { $0 + $1.abandonedTotal }
        let open = abandoned + outputs.reduce(0) { $0 + UInt64($1.sink.unsettledLines) }
        let before = reported.load(ordering: .relaxed).saturatingDifference(abandoned - countedAbandoned)
        countedAbandoned = abandoned
        reported.store(max(before, taken.saturatingDifference(open)), ordering: .relaxed)
    }

    /// Writes the last lines (what was lost or held back and not reported yet), then releases the sinks' descriptors.
    /// - Parameter announcing: whether the reporter is done with this core, so that its outputs may be used here.
    package func close(announcing: Bool) {
        if announcing {
            let now = clock()
            let sum = absorbed
            let fresh = sum.dropped.saturatingDifference(countedDropped)
            for index in outputs.indices {
                outputs[index].countDropped(fresh, reason: .queueFull)
                try? outputs[index].announce(now: now)
            }
            countedDropped += fresh
            for suppression in limiter.takeAll() { emit(suppression, sum, now) }
            _ = emitUnfinished()
            unfinished?.close()
            for index in outputs.indices { outputs[index].close() }
            updateLossCount()
        } else {
            // The reporter is still writing, perhaps to a disk that hangs; do not wait for that here.
            let sinks = sinks
            try? ObservedRunLoop.performInBackground(name: "lag-closer") { for sink in sinks { sink.close() } }
        }
    }
}
