internal import CLagLinux
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// Samples of the loop's thread: its CPU clock at every scan; its stack during a stall, or if a rule compares stacks.
extension Watch {
    /// Reads the CPU clock of the loop's thread, so that its value at the beginning of a stall is known.
    func readClock() {
        guard cold.pointee.target.tid != 0, hot.pointee.state.load(ordering: .acquiring) == .active else { return }
        cold.pointee.usage.record(clockReading(), reading)
    }

    /// With the run delay, 1 µs: if a quota or a lock of the kernel holds up this thread together with the loop's, a stall may be
    /// almost over when it is first seen.
    private func clockReading() -> UsageMeter.Reading {
        // Without `flatMap`: generic code allocates when it is first used with a type.
        var times: ThreadTimes?
        if let file = cold.pointee.times { times = ThreadTimes(file) }
        let isForeign = cold.pointee.target.process != services.ownProcess
        let cpu = isForeign ? times?.cpuNanoseconds ?? 0 : cll_thread_cpu_ns(cold.pointee.target.tid)
        return UsageMeter.Reading(time: services.clock(), cpu: cpu, runDelay: times?.runDelayNanoseconds)
    }

    /// The possible part of a pause: while the loop's thread ran, the process was not stopped. A large process that forks holds
    /// its memory map for hundreds of milliseconds, and a watchdog that needs the map is as late as if it had been stopped.
    func possible(_ processPause: ProcessPause?) -> ProcessPause? {
        // Another thread's clock is no evidence.
        guard let processPause, cold.pointee.unpinned == nil, cold.pointee.target.tid != 0 else { return processPause }
        // The time is read after the clock: a preemption in between makes the pause longer, not shorter.
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
            // A thread that was created after the maps were read.
            if target.stackLow == 0 {
                services.refreshModules()
                target = services.capture.identity(of: tid)
            }
        }
        cold.pointee.target = target
        // What is known about another thread does not apply to this one.
        cold.pointee.earlier = nil
        cold.pointee.recording?.timesAtLastSample = nil
        cold.pointee.usage.first = services.totals(of: tid)
    }

    /// The top of the loop's stack, if a rule compares stacks and needs it now. Nil if not, or if the loop moved on meanwhile.
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
        // It may have reached another callout, which is the purpose of this rule, but must not have been idle.
        guard outcome.method != .none, present.isWorking, present.wokeNanoseconds == reading.wokeNanoseconds else { return nil }
        let functions = min(sampling.rule.functions, outcome.stored)
        func function(_ position: Int) -> UInt64 { position < functions ? services.capture.function(of: scratch[position]) : 0 }
        return SampleKey(function(0), function(1), function(2), function(3))
    }

    /// Samples the stack of the stall in progress, and schedules the next sample.
    func sampleStack(_ reading: BeaconReading) {
        guard let recording = cold.pointee.recording, let number = recording.episode else { return }
        let episode = services.queue.episodes[number]
        let kind = cold.pointee.detector.activeStall?.lead ?? .callout
        var isWorthAnother = true
        // Whatever the result of this sample: a sample that is due already would stay due forever.
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
        // After the first sample: whether it has waited since the last one.
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
            // A sample that failed may cost as much the next time.
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

    /// A capture by ptrace stops the thread, even if it fails afterwards, and the kernel counts that as a sleep: it must not
    /// count as the thread's own.
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
        // Not in step with the thread's own rhythm.
        let next = services.clock().saturatingSum(backoff.gap(services.random.next()))
        // For a loop that moves, at a tick, which comes anyway: a stall of hours must not cost more wakes than a busy loop.
        let isMoving = kind == .starvation || kind == .sample
        cold.pointee.recording?.nextSampleNanoseconds = isMoving ? next.nextTick(ofInterval: hot.pointee.tickNanoseconds) : next
    }

    /// How long the thread slept since the sample before.
    private func timeAsleep(_ tally: StackTally, at now: UInt64) -> UInt64? {
        let earlier = cold.pointee.recording?.timesAtLastSample
        let times = ThreadTimes(tid: cold.pointee.target.tid, process: services.capture.process)
        cold.pointee.recording?.timesAtLastSample = times
        guard let earlier, let times else { return nil }
        return times.slept(since: earlier, in: now.saturatingDifference(tally.latestNanoseconds))
    }

    /// Whether the loop is still in the same stall as at `reading`, so that a stack captured meanwhile belongs to it.
    func isStillStalled(_ kind: StallKind, as reading: BeaconReading) -> Bool {
        let now = self.reading
        return switch kind {
        // For a pool's thread, the beacon contains no more than its samples found.
        case .callout: now.word == reading.word && (cold.pointee.poolWorker?.isAtSameJob ?? true)
        // Any of the many callouts is equally a part of it.
        case .starvation where countsSleeps: isAwakeBySleeps
        case .starvation, .sample: now.isWorking && now.wokeNanoseconds == reading.wokeNanoseconds
        case .ping: now.pongNanoseconds == reading.pongNanoseconds && isStillOnThread
        case .frame: now.word == reading.word
        }
    }

    /// Whether the sampled thread still works for the loop, if the loop is unpinned.
    var isStillOnThread: Bool {
        guard let loop = cold.pointee.unpinned else { return true }
        return loop.presentThread == cold.pointee.target.tid
    }
}
