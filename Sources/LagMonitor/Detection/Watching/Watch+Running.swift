internal import CLagBeacon
internal import CLagLinux
internal import LagActivity
internal import LagCapture

/// What the loop's thread is working at: its task, with the suspended callers, and the program's context.
extension Watch {
    /// Reads what the thread runs, right after its stack was taken.
    /// - Returns: false where that is not known, or may be something else than what the stack is of.
    func readRunning() -> Bool {
        guard let running = services.running, let thread = JobThread(tid: cold.pointee.target.tid), running.read(thread) else {
            return false
        }
        guard let worker = cold.pointee.poolWorker else { return true }
        // Its beacon says no more than its samples did: by now it may be at another job.
        return worker.taskNumber == running.task.pointee.number && running.hasTask
    }

    /// Records what was read, once it is known that the loop is still in its stall, and puts the suspended callers behind the stack.
    func recordRunning(_ isKnown: Bool, _ outcome: inout CaptureOutcome, in episode: Episode, at now: UInt64) {
        guard !services.isRemote else {
            // What another process's thread is at is read with the stack or not at all.
            let capture = services.capture
            return outcome.method != .none
                ? episode.running.add(capture.task, capture.context, at: now) : episode.running.add(nil, nil, at: now)
        }
        guard isKnown, let running = services.running else { return episode.running.add(nil, nil, at: now) }
        addAsyncCallers(running, &outcome)
        let hasContext = running.findContext()
        episode.running.add(running.hasTask ? running.task : nil, hasContext ? running.context : nil, at: now)
        guard episode.running.beginOpen(at: now), let thread = JobThread(tid: cold.pointee.target.tid) else { return }
        running.forEachOpen(of: thread, isPool: cold.pointee.poolWorker != nil) { episode.running.addOpen($0) }
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
            let running = services.running, isStillStalled(.callout, as: reading)
        else { return }
        addAsyncCallers(running, &outcome)
    }

    private func addAsyncCallers(_ running: RunningReader, _ outcome: inout CaptureOutcome) {
        guard outcome.method != .none, running.hasTask, outcome.stored == outcome.total else { return }
        let added = running.addAsyncCallers(to: services.scratch, from: outcome.stored, services.capture)
        outcome.stored += added
        outcome.total += added
    }
}
