internal import CLagBeacon
internal import LagDetection
internal import LagDiagnosis
internal import LagModel
internal import Synchronization

/// The thread that does the slow work: names, lines, sinks, handlers.
///
/// It may need malloc's lock or wait for a disk; the watchdog never waits for it.
// Unchecked: only this thread uses the builder and the withheld records; the rest is immutable or atomic.
final class Reporter: @unchecked Sendable {
    private let registry: WatchRegistry
    private let queue: EpisodeQueue
    private var builder: RecordBuilder
    private var withheld = WithheldRecords()
    private let semaphore = WakeSemaphore()
    private let stopping = Atomic<Bool>(false)
    /// `CLOCK_MONOTONIC`; 0: it does not write.
    private let writeBegin = Atomic<UInt64>(0)
    private let waitLimit: SharedDeadline?
    /// Deadlines of all monitors that are stopping now: lines may be waited for until then.
    private let waitDeadlines = PthreadMutex<[UInt64]>([])

    init(registry: WatchRegistry, queue: EpisodeQueue, builder: RecordBuilder) {
        self.registry = registry
        self.queue = queue
        self.builder = builder
        waitLimit = builder.waitLimit
    }

    /// Any thread; does not block.
    func wake() { semaphore.post() }

    /// No record waits for lines beyond this time (`CLOCK_MONOTONIC`): the wait would delay the records of a monitor that is
    /// stopping. Any thread; ``liftWaitLimit(_:)`` removes the limit.
    func limitWaiting(until deadline: UInt64) {
        waitDeadlines.withLock { deadlines in
            deadlines.append(deadline)
            waitLimit?.nanoseconds = deadlines.min() ?? .max
        }
    }

    func liftWaitLimit(_ deadline: UInt64) {
        waitDeadlines.withLock { deadlines in
            if let index = deadlines.firstIndex(of: deadline) { deadlines.remove(at: index) }
            waitLimit?.nanoseconds = deadlines.min() ?? .max
        }
    }

    /// Since when it may have been waiting for a sink or a disk (`CLOCK_MONOTONIC`); nil: it is not. Any thread.
    var writingSince: UInt64? {
        let begin = writeBegin.load(ordering: .acquiring)
        return begin > 0 ? begin : nil
    }

    /// Makes it write what is pending, without waiting for lines any more.
    func stop() {
        limitWaiting(until: 0)
        stopping.store(true, ordering: .releasing)
        semaphore.post()
    }

    /// The thread's body. It sleeps without a deadline unless a summary of suppressed records, or a loss, is to be reported.
    func run() {
        var deadline = UInt64.max
        while true {
            _ = semaphore.wait(until: deadline)
            semaphore.drain()
            // Read before the queue: what was queued before the stop was requested is still written.
            let last = stopping.load(ordering: .acquiring)
            // Before the queue as well: a retired watch has already queued everything that it left.
            let retired = registry.retired()
            while let inode = queue.takeSocket() { builder.resolveSocket(inode) }
            // While they exist: when the stall or the process ends, they may be gone.
            builder.resolveLanguageFrames()
            while let index = queue.takeReady() {
                report(queue.episodes[index])
                queue.giveFree(index)
            }
            deliverConfirmed()
            withheld.forget(retired)
            registry.reap(retired)
            deadline = .max
            for owner in registry.owners() {
                guard let core = owner as? MonitorCore else { continue }
                let due = write {
                    core.reopenIfRequested()
                    let due = core.emitDueSuppressions { registry.counters(of: core) }
                    return min(due, core.emitLosses(), core.emitUnfinished())
                }
                deadline = min(deadline, due)
            }
            if last { return builder.close() }
        }
    }

    private func report(_ episode: Episode) {
        guard let watch = registry.registration(at: episode.facts.watch), let core = watch.owner as? MonitorCore else { return }
        let (id, index) = (RecordBuilder.id(of: episode.facts), episode.facts.watch)
        // A stall whose beginning was reported gets its end, whatever is in doubt since then. (Building records takes time: the
        // loop may be at later work by now.)
        let isDoubtful = watch.candidate?.isDoubtful(at: episode.facts.lastWork) == true
        if let loop = watch.candidate, !loop.isConfirmed || isDoubtful, !withheld.isBegun(id, watch: index) {
            return withhold(episode, id, watch, core, loop)
        }
        // These came before this one.
        deliverConfirmed()
        let record = builder.build(episode, watch, core.configuration)
        switch episode.facts.phase {
        case .opened:
            write { core.keep(record) }
            core.askHost(about: record)
        case .dismissed: write { core.settle(id) }
        case .begin, .end, .abandoned:
            if let loop = watch.candidate {
                loop.recordReport()
                withheld.recordReport(of: record, watch: index)
            }
            write { _ = core.deliver(record, registry.counters(of: core)) }
        }
    }

    /// Runs what may wait for a sink or a disk.
    private func write<Result>(_ body: () -> Result) -> Result {
        writeBegin.store(clb_now_ns(), ordering: .releasing)
        defer { writeBegin.store(0, ordering: .releasing) }
        return body()
    }

    private func withhold(
        _ episode: Episode,
        _ id: StallID,
        _ watch: WatchRegistry.Registration,
        _ core: MonitorCore,
        _ loop: any CandidateLoop
    ) {
        let phase = episode.facts.phase
        // It may have been kept before the doubt began.
        if phase == .dismissed { write { core.settle(id) } }
        guard phase == .begin || phase == .end || phase == .abandoned else { return }
        let record = builder.build(episode, watch, core.configuration)
        // A stall whose end the watch did not see, or that ended without the loop's wait, is not reported later.
        let (index, lastWork) = (episode.facts.watch, episode.facts.lastWork)
        let isCutOff = phase == .abandoned || phase == .end && loop.isDoubtful(at: lastWork)
        if isCutOff { withheld.forget(id) }
        let isKept = !isCutOff && withheld.add(record, of: loop, watch: index, for: core, lastWork: lastWork)
        guard !isKept, phase != .begin else { return }
        write { core.settle(id) }
        // It counts only if the loop is confirmed, as the stall does.
        if loop.isConfirmed {
            registry.countDismissed(at: index)
        } else {
            registry.countDropped(at: index)
        }
    }

    private func deliverConfirmed() {
        for (record, core) in withheld.takeConfirmed() {
            write { _ = core.deliver(record, registry.counters(of: core)) }
        }
    }
}
