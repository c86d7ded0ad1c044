internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel

/// What the loop's thread is working on: its task, with the suspended callers, and the program's context.
extension Watch {
    /// Reads what the thread runs, right after its stack was captured.
    /// - Returns: false if it is not known.
    func readRunning() -> Bool {
        guard let running = services.running, let thread = JobThread(tid: cold.pointee.target.tid), running.read(thread) else {
            return false
        }
        return true
    }

    /// Records what was read, once it is known that the loop is still in its stall.
    /// - Parameter now: the time of the reading.
    func recordRunning(_ isKnown: Bool, _ outcome: CaptureOutcome, in episode: Episode, at now: UInt64) {
        // For another process's thread, this is only proof if it is read with the stack.
        guard !services.isRemote else {
            return add(outcome.method != .none ? foreignReading : RunningReading(), to: episode, at: now)
        }
        guard isKnown, let running = services.running else { return add(RunningReading(), to: episode, at: now) }
        record(running, in: episode, at: now)
    }

    private func record(_ running: RunningReader, in episode: Episode, at now: UInt64) {
        add(reading(of: running), to: episode, at: now)
        guard episode.running.beginOpen(at: now), let thread = JobThread(tid: cold.pointee.target.tid) else { return }
        let isPool = cold.pointee.poolWorker != nil
        if let trace = running.forEachOpen(of: thread, isPool: isPool, { episode.running.addOpen($0) }) {
            episode.running.setTrace(trace)
        }
    }

    /// Reads what the thread runs in the stall, without its stack. This is also done before the first capture: if the thread gets
    /// no processor, the capture may wait until the stall is over.
    func readRunning(_ kind: StallKind, _ beacon: BeaconReading, in episode: Episode) {
        guard !services.isRemote, let running = services.running else { return }
        let isKnown = readRunning()
        let now = services.clock()
        guard isStillStalled(kind, as: beacon) else { return }
        // It switched from one to another meanwhile: neither has run continuously since the reading before.
        if isKnown { record(running, in: episode, at: now) } else { add(RunningReading(), to: episode, at: now) }
    }

    /// Shorter work is not read.
    static let awakeNanoseconds: UInt64 = 10_000_000
    /// The maximum gap between two readings of continuing work, even if the watchdog's ticks are further apart.
    private static let readingGapNanoseconds: UInt64 = 50_000_000
    /// Reading the modules of a large process takes a while.
    private static let modulesAgeNanoseconds: UInt64 = 1_000_000_000
    /// A reading that took longer was interrupted: its time is not known.
    private static let longestReadingNanoseconds: UInt64 = 2_000_000

    /// Reads what the thread runs between the samples of its stack, and before a stall: a sample shows nothing about the time
    /// before it. If the loop has been working for a while, this is done once a tick, and at every scan while a stall is likely.
    /// Some 5 µs; for another process up to 0.5 ms, and only before its stalls. The thread notices nothing.
    func pollRunning(_ beacon: BeaconReading, _ scan: inout ScanState) {
        let isSuspicious = cold.pointee.detector.isSuspicious
        // A pool thread's job is known with certainty.
        guard cold.pointee.poolWorker == nil, cold.pointee.threadPool == nil, cold.pointee.target.tid != 0, isStillOnThread else {
            return
        }
        if cold.pointee.detector.isStalled {
            guard isSuspicious, let number = cold.pointee.recording?.episode else { return }
            let kind = cold.pointee.detector.activeStall?.lead ?? .callout
            return readRunning(kind, beacon, in: services.queue.episodes[number])
        }
        guard isSuspicious || mayStall(beacon, at: scan.now), scan.mayRead(index) else { return }
        let begun = services.clock()
        defer { scan.addReading(from: begun, to: services.clock()) }
        var found: RunningReading
        if services.isRemote {
            if isSuspicious { services.refreshModules(olderThan: Self.modulesAgeNanoseconds) }
            services.capture.readRunning(cold.pointee.target, isLikely: isSuspicious)
            found = foreignReading
            // While a thread changes it, the reading may find nothing.
            guard found.context != nil || found.task != nil else { return }
        } else {
            guard let running = services.running else { return }
            found = readRunning() ? reading(of: running) : RunningReading()
        }
        scan.nextNanoseconds = min(scan.nextNanoseconds, scan.now.saturatingSum(Self.readingGapNanoseconds))
        let now = services.clock()
        guard now.saturatingDifference(begun) <= Self.longestReadingNanoseconds else { return }
        cold.pointee.running.record(found, isStalled: false, at: now)
    }

    /// Whether the loop has been working, or has not answered a ping, for a while.
    private func mayStall(_ beacon: BeaconReading, at now: UInt64) -> Bool {
        if beacon.isAwake(for: Self.awakeNanoseconds, at: now) { return true }
        guard let ping = cold.pointee.detector.strategies.ping?.interval else { return false }
        return now.saturatingDifference(ping.since) >= Self.awakeNanoseconds
    }

    private var foreignReading: RunningReading {
        RunningReading(task: services.capture.task, context: services.capture.context)
    }

    private func reading(of running: RunningReader) -> RunningReading {
        var reading = RunningReading()
        if running.hasTask { reading.task = UnsafePointer(running.task) }
        if running.findContext() {
            reading.context = UnsafePointer(running.context)
            // The call has been running since it was made, and so has its task.
            if running.isSynchronous { reading.since = running.context.pointee.context.opened_ns }
        }
        // All of the stall is one task's job.
        if cold.pointee.poolWorker?.taskNumber != nil { reading.since = 1 }
        return reading
    }

    private func add(_ reading: RunningReading, to episode: Episode, at now: UInt64) {
        cold.pointee.running.record(reading, isStalled: true, at: now)
        episode.running.add(reading, cold.pointee.running, at: now)
    }

    /// The same for one of the threads of a pool that no longer answers: all of their contexts are open, and no single one is to
    /// blame.
    func recordRunning(of tid: Int32, _ outcome: inout CaptureOutcome, in episode: Episode, isFirst: Bool) {
        guard let running = services.running, let thread = JobThread(tid: tid), running.read(thread), running.hasTask else {
            return
        }
        addAsyncCallers(running, &outcome)
        if isFirst, running.findContext() { episode.running.addOpen(running.context) }
    }

    /// Appends the suspended callers to a stack that arrived late: its thread may have continued with another task.
    func addAsyncCallers(toLate outcome: inout CaptureOutcome) {
        let reading = self.reading
        // In another kind of stall, the callout may have changed by now.
        guard cold.pointee.detector.activeStall?.lead == .callout, reading.beaconWord == hot.pointee.lastWord, readRunning(),
            let running = services.running
        else { return }
        var longer = outcome
        addAsyncCallers(running, &longer)
        if isStillStalled(.callout, as: reading) { outcome = longer }
    }

    /// Appends the suspended callers to a stack. They are certain only if the stall still lasts afterwards.
    func addAsyncCallers(_ running: RunningReader, _ outcome: inout CaptureOutcome) {
        guard outcome.method != .none, running.hasTask, outcome.stored == outcome.total else { return }
        let added = running.addAsyncCallers(to: services.scratch, from: outcome.stored, services.capture)
        outcome.stored += added
        outcome.total += added
    }
}
