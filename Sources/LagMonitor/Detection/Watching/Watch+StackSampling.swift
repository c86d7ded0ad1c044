internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// Samples of the loop's thread: its CPU clock at every scan, its stack while it stalls or where a rule compares stacks.
extension Watch {
    /// Reads the CPU clock of the loop's thread, so that it is known what it stood at when a stall began.
    func readClock() {
        guard cold.pointee.target.tid != 0, hot.pointee.state.load(ordering: .acquiring) == .active else { return }
        cold.pointee.usage.record(clockReading(), reading)
    }

    /// With the run delay, 1 µs: where a quota or a lock of the kernel holds up this thread together with the loop's, a stall may be all but over
    /// when it is first seen.
    private func clockReading() -> UsageMeter.Reading {
        // Without `flatMap`: generic code takes memory when it is first used with a type.
        var times: ThreadTimes?
        if let file = cold.pointee.times { times = ThreadTimes(file) }
        let isForeign = cold.pointee.target.process != services.ownProcess
        let cpu = isForeign ? times?.cpuNanoseconds ?? 0 : cll_thread_cpu_ns(cold.pointee.target.tid)
        return UsageMeter.Reading(time: services.clock(), cpu: cpu, runDelay: times?.runDelayNanoseconds)
    }

    /// The part of a pause that is possible: while the loop's thread ran, the process was not stopped. A large process that forks holds its
    /// memory map for hundreds of milliseconds, and a watchdog that needs it is as late as if it had been stopped.
    func possible(_ processPause: ProcessPause?) -> ProcessPause? {
        // Another thread's clock says nothing.
        guard let processPause, cold.pointee.unpinned == nil, cold.pointee.target.tid != 0 else { return processPause }
        // The time after the clock: a preemption in between makes the pause longer, not shorter.
        var reading = clockReading()
        reading.time = services.clock()
        let ran = cold.pointee.usage.ran(since: processPause.from, reading, self.reading)
        guard ran > 0 else { return processPause }
        return processPause.limited(
            in: max(reading.time, processPause.to).saturatingDifference(processPause.from),
            ran: ran,
            waited: cold.pointee.usage.waited(until: reading)
        )
    }

    /// Finds the thread that works for an unpinned loop.
    func locate() {
        guard let loop = cold.pointee.unpinned else { return }
        let tid = loop.presentThread
        guard tid != cold.pointee.target.tid else { return }
        var target = ThreadIdentity(tid: 0, process: services.capture.process, stackLow: 0, stackHigh: 0)
        if tid != 0 {
            target = services.capture.identity(of: tid)
            // A thread that was made after the maps were read.
            if target.stackLow == 0 {
                services.refreshModules()
                target = services.capture.identity(of: tid)
            }
        }
        cold.pointee.target = target
        // What was known of another thread says nothing of this one.
        cold.pointee.earlier = nil
        cold.pointee.recording?.timesAtLastSample = nil
        cold.pointee.usage.first = services.totals(of: tid)
    }

    /// What is on top of the loop's stack, if a rule compares stacks and wants to know now. Nil when it does not, or when the loop moved
    /// on meanwhile.
    func sampleForRule(_ reading: BeaconReading, at now: UInt64) -> SampleKey? {
        guard let sampling = cold.pointee.detector.strategies.sampling, sampling.wantsSample(reading, at: now) else { return nil }
        let target = cold.pointee.target
        guard target.tid != 0 else { return nil }
        let earlier = cold.pointee.earlier
        if earlier == nil { cold.pointee.earlier = ThreadState(tid: target.tid, process: target.process) }
        let scratch = services.scratch
        let outcome = passingStops {
            services.capture.capture(target, earlier: earlier, into: scratch, budget: .brief)
        }
        let present = self.reading
        // It may have come to another callout, which is the point of this rule, but not to a rest.
        guard outcome.method != .none, present.isWorking, present.wokeNanoseconds == reading.wokeNanoseconds else { return nil }
        let functions = min(sampling.rule.functions, outcome.stored)
        func function(_ position: Int) -> UInt64 { position < functions ? services.capture.function(of: scratch[position]) : 0 }
        return SampleKey(function(0), function(1), function(2), function(3))
    }

    /// Samples the stack of the stall in progress, and says when to do so again.
    func sampleStack(_ reading: BeaconReading) {
        guard let recording = cold.pointee.recording, let number = recording.episode else { return }
        let episode = services.queue.episodes[number]
        let kind = cold.pointee.detector.activeStall?.lead ?? .callout
        var isWorthAnother = true
        // Whatever comes of this sample: one that is due already would be due for ever.
        defer { if isWorthAnother { scheduleSample(kind) } else { cold.pointee.recording?.nextSampleNanoseconds = .max } }
        if let threadPool = cold.pointee.threadPool {
            return recordGap(isSame: sampleWorkers(of: threadPool, kind, reading, in: episode), at: services.clock())
        }
        locate()
        countWaiting(kind, reading, in: episode)
        let target = cold.pointee.target
        guard target.tid != 0 else {
            isWorthAnother = cold.pointee.unpinned != nil
            recordGap(isSame: true, at: services.clock())
            return episode.tally.recordFailure(.failed(.threadUnknown))
        }
        episode.facts.thread = target.tid
        if episode.tally.sampleCount == 0 { readRunning(kind, reading, in: episode) }
        services.takeLateAnswer()
        let now = services.clock()
        var outcome = passingStops {
            services.capture.capture(
                target,
                earlier: cold.pointee.earlier,
                into: services.scratch,
                allowsLateAnswer: true,
                // Other loops wait for their observation meanwhile.
                budget: episode.tally.sampleCount == 0 ? .full : .brief
            )
        }
        // After the first sample, whether it has waited for something since the last one.
        cold.pointee.earlier = ThreadState(tid: target.tid, process: target.process)
        let isRunningKnown = readRunning()
        let readAt = services.isRemote ? now : services.clock()
        if isRunningKnown, let running = services.running { addAsyncCallers(running, &outcome) }
        guard isStillStalled(kind, as: reading) else {
            services.capture.forget(target.tid)
            recordGap(isSame: true, at: now)
            return episode.tally.recordFailure(.failed(.loopMovedOn))
        }
        recordRunning(isRunningKnown, outcome, in: episode, at: readAt)
        guard outcome.method != .none else {
            // What could not be had may cost as much the next time.
            recordGap(isSame: true, at: now)
            guard outcome.state == .asleep else { return episode.tally.recordFailure(outcome) }
            return services.recordSleep(outcome, of: target, in: episode, at: now, slept: timeAsleep(episode.tally, at: now))
        }
        let slept = timeAsleep(episode.tally, at: now)
        let place = episode.tally.add(outcome, services.scratch, key: services.key(of: outcome), at: now, slept: slept)
        recordGap(isSame: place.isSame, at: now)
        guard case .waiting(let call) = outcome.state else { return }
        services.describe(call, of: target, in: episode, place.index, isNew: place.isNew) { isStillStalled(kind, as: reading) }
    }

    /// A capture by ptrace stops the thread, also one that fails afterwards, and the kernel counts that as a sleep: not one of its own.
    private func passingStops(_ capture: () -> CaptureOutcome) -> CaptureOutcome {
        let wasAwake = isAwakeBySleeps
        let outcome = capture()
        let mayHaveStopped = outcome.method == .ptrace || (outcome.method == .none && outcome.state != .asleep)
        if wasAwake, mayHaveStopped { cold.pointee.rests.pass(overStopAt: cold.pointee.examinable?.countSleeps()) }
        return outcome
    }

    private func recordGap(isSame: Bool, at now: UInt64) {
        guard let since = cold.pointee.recording?.sinceNanoseconds else { return }
        cold.pointee.recording?.backoff.record(isSame: isSame, age: now.saturatingDifference(since))
    }

    private func scheduleSample(_ kind: StallKind) {
        guard let backoff = cold.pointee.recording?.backoff else { return }
        // Not in step with what the thread may do at a fixed pace.
        let next = services.clock().saturatingSum(backoff.gap(services.random.next()))
        // Of a loop that moves, at a tick, which comes anyway: a stall of hours must not cost more wakes than being busy does.
        let isMoving = kind == .starvation || kind == .sample
        cold.pointee.recording?.nextSampleNanoseconds = isMoving ? next.nextTick(ofInterval: hot.pointee.tickNanoseconds) : next
    }

    /// For how long the thread slept since the sample before.
    private func timeAsleep(_ tally: StackTally, at now: UInt64) -> UInt64? {
        let earlier = cold.pointee.recording?.timesAtLastSample
        let times = ThreadTimes(tid: cold.pointee.target.tid, process: services.capture.process)
        cold.pointee.recording?.timesAtLastSample = times
        guard let earlier, let times else { return nil }
        return times.slept(since: earlier, in: now.saturatingDifference(tally.latestNanoseconds))
    }

    /// Whether the loop is still in the stall that it was in at `reading`, so that a stack taken meanwhile belongs to it.
    func isStillStalled(_ kind: StallKind, as reading: BeaconReading) -> Bool {
        let now = self.reading
        return switch kind {
        // Of a pool's thread the beacon says no more than its samples did.
        case .callout: now.word == reading.word && (cold.pointee.poolWorker?.isAtSameJob ?? true)
        // Any of the many callouts is as much a part of it as another.
        case .starvation where countsSleeps: isAwakeBySleeps
        case .starvation, .sample: now.isWorking && now.wokeNanoseconds == reading.wokeNanoseconds
        case .ping: now.pongNanoseconds == reading.pongNanoseconds && isStillOnThread
        case .frame: now.word == reading.word
        }
    }

    /// Whether the thread that was sampled still works for the loop, of an unpinned one.
    var isStillOnThread: Bool {
        guard let loop = cold.pointee.unpinned else { return true }
        return loop.presentThread == cold.pointee.target.tid
    }
}
