internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture

/// What the loop's thread is working at: its task, with the suspended callers, and the program's context.
extension Watch {
    /// Reads what the thread runs, right after its stack was taken.
    /// - Returns: false where that is not known.
    func readRunning() -> Bool {
        guard let running = services.running, let thread = JobThread(tid: cold.pointee.target.tid), running.read(thread) else {
            return false
        }
        return true
    }

    /// Records what was read, once it is known that the loop is still in its stall.
    /// - Parameter now: when it was read.
    func recordRunning(_ isKnown: Bool, _ outcome: CaptureOutcome, in episode: Episode, at now: UInt64) {
        guard !services.isRemote else {
            // What another process's thread is at is read with the stack or not at all.
            let capture = services.capture
            return outcome.method != .none
                ? episode.running.add(capture.task, capture.context, at: now) : episode.running.add(nil, nil, at: now)
        }
        guard isKnown, let running = services.running else { return episode.running.add(nil, nil, at: now) }
        add(running, to: episode, at: now)
        guard episode.running.beginOpen(at: now), let thread = JobThread(tid: cold.pointee.target.tid) else { return }
        running.forEachOpen(of: thread, isPool: cold.pointee.poolWorker != nil) { episode.running.addOpen($0) }
    }

    /// Reads what the thread runs between the samples of its stack, and before there is a stall: of a loop that runs many tasks' jobs, a sample says
    /// nothing of the time before it. At every scan while a stall is likely; some 5 µs.
    func pollRunning(_ reading: BeaconReading) {
        // A job of a pool's thread is one by proof.
        guard cold.pointee.detector.isSuspicious, !services.isRemote, cold.pointee.poolWorker == nil,
            cold.pointee.threadPool == nil,
            let running = services.running, cold.pointee.target.tid != 0, isStillOnThread
        else { return }
        let isKnown = readRunning()
        let now = services.clock()
        if let number = cold.pointee.recording?.episode {
            guard isKnown, isStillStalled(cold.pointee.detector.activeStall?.lead ?? .callout, as: reading) else { return }
            add(running, to: services.queue.episodes[number], at: now)
        } else if isKnown {
            let token = running.findContext() ? running.context.pointee.token : 0
            cold.pointee.early.record(
                token: token,
                task: running.task.pointee.address,
                number: running.task.pointee.number,
                at: now
            )
        }
    }

    private func add(_ running: RunningReader, to episode: Episode, at now: UInt64) {
        let hasContext = running.findContext()
        episode.running.add(
            running.hasTask ? running.task : nil,
            hasContext ? running.context : nil,
            since: runningSince(running, hasContext: hasContext, at: now),
            at: now
        )
    }

    private func runningSince(_ running: RunningReader, hasContext: Bool, at now: UInt64) -> RunningSince {
        // All of the stall is one task's job.
        if cold.pointee.poolWorker?.taskNumber != nil { return RunningSince(context: 1, task: 1, runsOn: true) }
        let task = running.task.pointee
        var since = cold.pointee.early.since(
            token: hasContext ? running.context.pointee.token : 0,
            task: task.address,
            number: task.number,
            begin: cold.pointee.recording?.sinceNanoseconds ?? now,
            at: now
        )
        guard hasContext, running.isSynchronous else { return since }
        // The call runs since it was made, and so does its task.
        since.context = running.context.pointee.context.opened_ns
        since.task = since.task > 0 ? min(since.task, since.context) : since.context
        since.runsOn = true
        return since
    }

    /// The same of one of the threads of a pool that answers no more: all of their contexts are open, and none of them alone is to blame.
    func recordRunning(of tid: Int32, _ outcome: inout CaptureOutcome, in episode: Episode, isFirst: Bool) {
        guard let running = services.running, let thread = JobThread(tid: tid), running.read(thread), running.hasTask else {
            return
        }
        addAsyncCallers(running, &outcome)
        if isFirst, running.findContext() { episode.running.addOpen(running.context) }
    }

    /// Puts the suspended callers behind a stack that came late: its thread may have gone on, and be at another task.
    func addAsyncCallers(toLate outcome: inout CaptureOutcome) {
        let reading = self.reading
        // Of another kind of stall the callout may be another one by now.
        guard cold.pointee.detector.activeStall?.lead == .callout, reading.beaconWord == hot.pointee.lastWord, readRunning(),
            let running = services.running
        else { return }
        var longer = outcome
        addAsyncCallers(running, &longer)
        if isStillStalled(.callout, as: reading) { outcome = longer }
    }

    /// Puts the suspended callers behind a stack. Only what is still stalled afterwards has them for certain.
    func addAsyncCallers(_ running: RunningReader, _ outcome: inout CaptureOutcome) {
        guard outcome.method != .none, running.hasTask, outcome.stored == outcome.total else { return }
        let added = running.addAsyncCallers(to: services.scratch, from: outcome.stored, services.capture)
        outcome.stored += added
        outcome.total += added
    }
}
