internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// From the events to an episode.
extension Watchdog {
    /// The module map is read before a capture (libraries come and go, also at the same address), at most so often: 0.2 ms.
    static let modulesAgeNanoseconds: UInt64 = 10_000_000

    func refreshModules() {
        capture.refreshModules()
        modulesReadAt = clock()
    }

    func act(on events: StallDetector.Events, _ index: Int, _ reading: BeaconReading, _ now: UInt64) {
        let cold = registry.coldParts + index
        if events.isSuspected { suspect(index) }
        if let ended = events.ended { end(index, ended, .end) }
        if events.isSuppressed {
            forgetSuspicion(index)
            cold.pointee.suppressed.add(1, ordering: .relaxed)
        }
        if let unobserved = events.unobserved {
            cold.pointee.stalls.add(1, ordering: .relaxed)
            cold.pointee.activity = .notRunning
            end(index, unobserved, .end, .loopMovedOn)
        }
        if events.opened != nil { open(index, reading, at: now) }
        if let hanging = events.hanging { emit(index, hanging, .begin) }
        if events.wantsPing { ping(index) }
    }

    private func suspect(_ index: Int) {
        let cold = registry.coldParts + index
        locate(index)
        let tid = cold.pointee.target.tid
        guard tid != 0 else { return }
        cold.pointee.earlier = ThreadState(tid: tid, process: capture.process)
        cold.pointee.usage.first = UsageMeter.Totals(tid: tid, process: capture.process, at: clock())
    }

    /// A stall: its facts and its stack.
    private func open(_ index: Int, _ reading: BeaconReading, at now: UInt64) {
        let cold = registry.coldParts + index
        guard let kind = cold.pointee.detector.activeStall?.lead, let span = cold.pointee.detector.span(of: kind) else { return }
        // A suspicion from before the stall is an older one's.
        if (cold.pointee.usage.first?.reading.time ?? 0) < span.since {
            suspect(index)
            // What it did just now says nothing of whether it waits now and then.
            cold.pointee.earlier = nil
        }
        let tid = cold.pointee.target.tid
        if tid != 0, isRemote, cll_thread_is_ending(capture.process, tid) != 0 {
            // Its process ended between two waits, and its page is all that is left: nobody waits for that.
            cold.pointee.detector.dismiss(at: clock())
            forgetSuspicion(index)
            return
        }
        if tid != 0, isHeld(tid) {
            // A debugger holds the thread: its users do not wait for the loop, but for whoever debugs it.
            cold.pointee.dismissed.add(1, ordering: .relaxed)
            cold.pointee.detector.dismiss(at: clock())
            forgetSuspicion(index)
            return
        }
        cold.pointee.usage.begin(kind, since: span.since)
        cold.pointee.stalledNanoseconds = span.since
        cold.pointee.activity = reading.activity
        cold.pointee.episode = queue.takeFree()
        // Before the capture, which takes its time: should the stall end meanwhile, its end is known exactly.
        arm(index)
        if let episode = cold.pointee.episode.map({ queue.episodes[$0] }) {
            describe(episode, index, since: span.since)
            if clock() &- modulesReadAt > Self.modulesAgeNanoseconds { refreshModules() }
            cold.pointee.stackSamplingBackoff = StackSamplingBackoff()
            sampleStack(index, reading)
        }
        // Last: of a stall that is counted the stack is there, whatever becomes of its thread from now on.
        cold.pointee.stalls.add(1, ordering: .relaxed)
        if cold.pointee.detector.rules.reportsOpened, let present = cold.pointee.detector.present(at: clock()) {
            emit(index, present, .opened)
        }
    }

    /// Whether a debugger holds the thread; or, in another process, whether that is stopped as a whole, which here the process itself
    /// would have noticed by its own lateness.
    func isHeld(_ tid: Int32) -> Bool {
        if case .traced(_, stopped: true) = TracerCheck.read(tid: tid, process: capture.process) { return true }
        return isRemote && ThreadState(tid: tid, process: capture.process)?.isStopped == true
    }

    /// Whether the loop is still in the stall that it was in at `reading`, so that a stack taken meanwhile belongs to it.
    func isStillStalled(_ index: Int, _ kind: StallKind, as reading: BeaconReading) -> Bool {
        let now = BeaconReading(registry.hotParts[index].beacon)
        return switch kind {
        case .callout: now.word == reading.word
        // Any of the many callouts is as much a part of it as another.
        case .starvation, .sample: now.isWorking && now.wokeNanoseconds == reading.wokeNanoseconds
        case .ping: now.pongNanoseconds == reading.pongNanoseconds && isStillOnThread(index)
        case .frame: now.word == reading.word
        }
    }

    /// Whether the thread that was looked at still works for the loop, of one that wanders.
    private func isStillOnThread(_ index: Int) -> Bool {
        guard let loop = registry.coldParts[index].unpinned else { return true }
        return loop.presentThread == registry.coldParts[index].target.tid
    }

    private func describe(_ episode: Episode, _ index: Int, since: UInt64) {
        episode.facts = Episode.Facts()
        episode.facts.watch = index
        episode.facts.activity = registry.coldParts[index].activity
        episode.facts.startRealtimeNanoseconds = Self.realtime(of: since)
        episode.facts.identityRealtimeNanoseconds = episode.facts.startRealtimeNanoseconds
        episode.facts.interval = StallInterval(OngoingInterval(since: since, seen: since), until: since)
        episode.facts.random = (random.next(), random.next())
        episode.facts.mode = clb_beacon_mode(registry.hotParts[index].beacon)
        episode.tally.begin(at: since)
    }

    /// A line while it lasts.
    private func emit(_ index: Int, _ present: StallDetector.DetectedStall, _ phase: Episode.Phase) {
        let cold = registry.coldParts + index
        guard let episode = cold.pointee.episode, let line = queue.takeFree() else {
            // What makes no line is no loss.
            if phase == .begin { cold.pointee.dropped.add(1, ordering: .relaxed) }
            return
        }
        queue.episodes[line].copy(queue.episodes[episode])
        close(line, index, present, phase)
    }

    /// - Parameter failure: why there is no stack, where none was taken.
    private func end(
        _ index: Int,
        _ ended: StallDetector.DetectedStall,
        _ phase: Episode.Phase,
        _ failure: CaptureFailure = .noFreeSlot
    ) {
        let cold = registry.coldParts + index
        if let episode = cold.pointee.episode {
            takeLateAnswer()
            cold.pointee.episode = nil
            capture.forget(cold.pointee.target.tid)
            close(episode, index, ended, phase)
        } else if let episode = queue.takeFree() {
            // There was no memory for it when it began: its length is known all the same.
            describe(queue.episodes[episode], index, since: ended.interval.since)
            queue.episodes[episode].tally.recordFailure(.failed(failure))
            close(episode, index, ended, phase)
        } else {
            cold.pointee.dropped.add(1, ordering: .relaxed)
        }
        forgetSuspicion(index)
    }

    private func forgetSuspicion(_ index: Int) {
        registry.coldParts[index].earlier = nil
        registry.coldParts[index].timesAtLastSample = nil
        registry.coldParts[index].usage.end()
        registry.coldParts[index].nextStackSampleNanoseconds = .max
    }

    private func close(_ number: Int, _ index: Int, _ ended: StallDetector.DetectedStall, _ phase: Episode.Phase) {
        let cold = registry.coldParts + index
        let episode = queue.episodes[number]
        episode.facts.phase = phase
        episode.facts.kind = ended.kind
        episode.facts.kinds = ended.kinds
        // A rule that leads since then may know another beginning.
        let shift = Int64(truncatingIfNeeded: ended.interval.since &- episode.facts.interval.since)
        episode.facts.startRealtimeNanoseconds &+= shift
        episode.facts.interval = ended.interval
        episode.facts.thresholdNanoseconds = ended.thresholdNanoseconds
        episode.tally.close(at: ended.interval.until)
        if let last = UsageMeter.Totals(tid: cold.pointee.target.tid, process: capture.process, at: clock()) {
            episode.facts.usage = cold.pointee.usage.usage(
                since: ended.interval.since,
                until: ended.interval.until,
                length: ended.interval.length,
                spansCallouts: ended.kind != .callout,
                last
            )
        }
        queue.giveReady(number)
        notify()
    }

    /// Ends one watch. What is still in progress is abandoned; a stall that is over by now has ended properly.
    /// - Parameter processPause: one since the loop was last looked at.
    func finish(_ index: Int, _ processPause: ProcessPause?) {
        let hot = registry.hotParts + index
        endActiveStall(index, ignoreBefore: 0, processPause)
        // Another watch of the same loop may count on the arming: the round of looks restores it.
        clb_beacon_disarm(hot.pointee.beacon)
        hot.pointee.state.store(.retired, ordering: .releasing)
    }

    /// Seen from outside, its thread is gone: what it was in the midst of did not come to an end.
    func isLost(_ reading: BeaconReading) -> Bool { externalSampler != nil && reading.activity == .finished }

    /// The watch of a loop was paused: a stall in progress ends with it.
    func pause(_ index: Int, _ processPause: ProcessPause?) {
        guard !registry.coldParts[index].isPaused else { return }
        endActiveStall(index, ignoreBefore: 0, processPause)
        registry.coldParts[index].isPaused = true
    }

    /// It goes on: nothing before that counts. A stall in progress ends, if the pause was over before this thread got to see it.
    /// - Returns: false when it does not, because it has just been paused or ended.
    func resume(_ index: Int, _ processPause: ProcessPause?) -> Bool {
        let cold = registry.coldParts + index
        let state = registry.hotParts[index].state
            .compareExchange(expected: .resuming, desired: .active, ordering: .acquiringAndReleasing)
        guard state.exchanged else { return false }
        endActiveStall(index, ignoreBefore: cold.pointee.resumed.load(ordering: .acquiring), processPause)
        cold.pointee.isPaused = false
        registry.hotParts[index].lastWord = .max
        registry.hotParts[index].hasUnreportedFastPoll = false
        return true
    }

    func endActiveStall(_ index: Int, ignoreBefore: UInt64, _ processPause: ProcessPause?) {
        let hot = registry.hotParts + index
        let cold = registry.coldParts + index
        let reading = BeaconReading(hot.pointee.beacon)
        var processPause = ProcessPause.joined(cold.pointee.deferredProcessPause, processPause)
        cold.pointee.deferredProcessPause = nil
        if !cold.pointee.isPaused, reading.word != hot.pointee.lastWord, !isLost(reading) {
            inspect(index, reading, at: clock(), processPause)
            processPause = nil
        }
        switch cold.pointee.detector.finish(at: clock(), ignoreBefore: ignoreBefore, processPause) {
        case .nothing: break
        case .stalled(let ended): end(index, ended, .abandoned)
        case .suppressed: cold.pointee.suppressed.add(1, ordering: .relaxed)
        }
    }

    /// - Parameter processPause: one since the loops were last looked at.
    func endAll(_ processPause: ProcessPause? = nil) {
        for index in 0..<registry.count {
            switch registry.hotParts[index].state.load(ordering: .acquiring) {
            case .active, .paused, .resuming, .ending: finish(index, processPause)
            case .free, .retired: break
            }
        }
        notify()
    }

    /// The wall clock's reading at a monotonic time, by what both say now.
    private static func realtime(of monotonic: UInt64) -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let now = clb_now_ns()
        let age = now > monotonic ? now - monotonic : 0
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - Int64(clamping: age)
    }
}
