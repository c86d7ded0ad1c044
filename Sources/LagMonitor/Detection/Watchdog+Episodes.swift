internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import Synchronization

/// From a judgement to an episode.
extension Watchdog {
    /// The module map is read before a capture (libraries come and go, also at the same address), at most so often: 0.2 ms.
    static let modulesAgeNanoseconds: UInt64 = 10_000_000

    func refreshModules() {
        capture.refreshModules()
        modulesReadAt = clock()
    }

    func act(on judgement: LoopJudge.Judgement, _ index: Int, _ reading: BeaconReading, _ now: UInt64) {
        let entry = registry.entries + index
        if judgement.isSuspected { suspect(index) }
        if let ended = judgement.ended { end(index, ended, .end) }
        if judgement.isSuppressed {
            forgetSuspicion(index)
            entry.pointee.suppressed.add(1, ordering: .relaxed)
        }
        if let passed = judgement.passed {
            entry.pointee.stalls.add(1, ordering: .relaxed)
            entry.pointee.activity = .notRunning
            end(index, passed, .end, .loopMovedOn)
        }
        if judgement.opened != nil { open(index, reading, at: now) }
        if let hanging = judgement.hanging { tell(index, hanging, .begin) }
        if judgement.wantsPing { ping(index) }
    }

    private func suspect(_ index: Int) {
        let entry = registry.entries + index
        locate(index)
        let tid = entry.pointee.target.tid
        guard tid != 0 else { return }
        entry.pointee.earlier = ThreadState(tid: tid, process: capture.process)
        entry.pointee.usage.first = UsageMeter.Totals(tid: tid, process: capture.process, at: clock())
    }

    /// A stall: its facts and its stack.
    private func open(_ index: Int, _ reading: BeaconReading, at now: UInt64) {
        let entry = registry.entries + index
        guard let kind = entry.pointee.judge.incident?.lead, let span = entry.pointee.judge.span(of: kind) else { return }
        // A suspicion from before the stall is an older one's.
        if (entry.pointee.usage.first?.reading.time ?? 0) < span.since {
            suspect(index)
            // What it did just now says nothing of whether it waits now and then.
            entry.pointee.earlier = nil
        }
        let tid = entry.pointee.target.tid
        if tid != 0, isForeign, cll_thread_is_ending(capture.process, tid) != 0 {
            // Its process ended between two waits, and its page is all that is left: nobody waits for that.
            entry.pointee.judge.dismiss(at: clock())
            forgetSuspicion(index)
            return
        }
        if tid != 0, isHeld(tid) {
            // A debugger holds the thread: its users do not wait for the loop, but for whoever debugs it.
            entry.pointee.dismissed.add(1, ordering: .relaxed)
            entry.pointee.judge.dismiss(at: clock())
            forgetSuspicion(index)
            return
        }
        entry.pointee.usage.begin(kind, since: span.since)
        entry.pointee.stalledNanoseconds = span.since
        entry.pointee.activity = reading.activity
        entry.pointee.episode = queue.takeFree()
        // Before the capture, which takes its time: should the stall end meanwhile, its end is known exactly.
        arm(index)
        if let episode = entry.pointee.episode.map({ queue.episodes[$0] }) {
            describe(episode, index, since: span.since)
            if clock() &- modulesReadAt > Self.modulesAgeNanoseconds { refreshModules() }
            entry.pointee.annealing = Annealing()
            lookAtStack(index, reading)
        }
        // Last: of a stall that is counted the stack is there, whatever becomes of its thread from now on.
        entry.pointee.stalls.add(1, ordering: .relaxed)
        if entry.pointee.judge.rules.tellsOpened, let present = entry.pointee.judge.present(at: clock()) {
            tell(index, present, .opened)
        }
    }

    /// Whether a debugger holds the thread; or, in another process, whether that is stopped as a whole, which here the process itself
    /// would have noticed by its own lateness.
    func isHeld(_ tid: Int32) -> Bool {
        if case .traced(_, stopped: true) = TracerCheck.read(tid: tid, process: capture.process) { return true }
        return isForeign && ThreadState(tid: tid, process: capture.process)?.isStopped == true
    }

    /// Whether the loop is still in the stall that it was in at `reading`, so that a stack taken meanwhile belongs to it.
    func stillStands(_ index: Int, _ kind: StallKind, as reading: BeaconReading) -> Bool {
        let now = BeaconReading(registry.lines[index].beacon)
        return switch kind {
        case .callout: now.word == reading.word
        // Any of the many callouts is as much a part of it as another.
        case .starvation, .sample: now.isWorking && now.wokeNanoseconds == reading.wokeNanoseconds
        case .ping: now.pongNanoseconds == reading.pongNanoseconds && isStillThere(index)
        case .frame: now.word == reading.word
        }
    }

    /// Whether the thread that was looked at still works for the loop, of one that wanders.
    private func isStillThere(_ index: Int) -> Bool {
        guard let loop = registry.entries[index].wandering else { return true }
        return loop.presentThread == registry.entries[index].target.tid
    }

    private func describe(_ episode: Episode, _ index: Int, since: UInt64) {
        episode.facts = Episode.Facts()
        episode.facts.watch = index
        episode.facts.activity = registry.entries[index].activity
        episode.facts.startRealtimeNanoseconds = Self.realtime(of: since)
        episode.facts.identityRealtimeNanoseconds = episode.facts.startRealtimeNanoseconds
        episode.facts.extent = Extent(Span(since: since, seen: since), until: since)
        episode.facts.random = (random.next(), random.next())
        episode.facts.mode = clb_beacon_mode(registry.lines[index].beacon)
        episode.tally.begin(at: since)
    }

    /// A line while it lasts.
    private func tell(_ index: Int, _ present: LoopJudge.Ended, _ phase: Episode.Phase) {
        let entry = registry.entries + index
        guard let episode = entry.pointee.episode, let line = queue.takeFree() else {
            // What makes no line is no loss.
            if phase == .begin { entry.pointee.dropped.add(1, ordering: .relaxed) }
            return
        }
        queue.episodes[line].copy(queue.episodes[episode])
        close(line, index, present, phase)
    }

    /// - Parameter failure: why there is no stack, where none was taken.
    private func end(
        _ index: Int,
        _ ended: LoopJudge.Ended,
        _ phase: Episode.Phase,
        _ failure: CaptureFailure = .noFreeSlot
    ) {
        let entry = registry.entries + index
        if let episode = entry.pointee.episode {
            takeLateAnswer()
            entry.pointee.episode = nil
            capture.forget(entry.pointee.target.tid)
            close(episode, index, ended, phase)
        } else if let episode = queue.takeFree() {
            // There was no memory for it when it began: its length is known all the same.
            describe(queue.episodes[episode], index, since: ended.extent.since)
            queue.episodes[episode].tally.note(.failed(failure))
            close(episode, index, ended, phase)
        } else {
            entry.pointee.dropped.add(1, ordering: .relaxed)
        }
        forgetSuspicion(index)
    }

    private func forgetSuspicion(_ index: Int) {
        registry.entries[index].earlier = nil
        registry.entries[index].lookTimes = nil
        registry.entries[index].usage.end()
        registry.entries[index].lookNanoseconds = .max
    }

    private func close(_ number: Int, _ index: Int, _ ended: LoopJudge.Ended, _ phase: Episode.Phase) {
        let entry = registry.entries + index
        let episode = queue.episodes[number]
        episode.facts.phase = phase
        episode.facts.kind = ended.kind
        episode.facts.kinds = ended.kinds
        // A rule that leads since then may know another beginning.
        let shift = Int64(truncatingIfNeeded: ended.extent.since &- episode.facts.extent.since)
        episode.facts.startRealtimeNanoseconds &+= shift
        episode.facts.extent = ended.extent
        episode.facts.thresholdNanoseconds = ended.thresholdNanoseconds
        episode.tally.close(at: ended.extent.until)
        if let last = UsageMeter.Totals(tid: entry.pointee.target.tid, process: capture.process, at: clock()) {
            episode.facts.usage = entry.pointee.usage.usage(
                since: ended.extent.since,
                until: ended.extent.until,
                length: ended.extent.length,
                spansCallouts: ended.kind != .callout,
                last
            )
        }
        queue.giveReady(number)
        notify()
    }

    /// Ends one watch. What is still in progress is abandoned; a stall that is over by now has ended properly.
    /// - Parameter blackout: one since the loop was last looked at.
    func finish(_ index: Int, _ blackout: Blackout?) {
        let line = registry.lines + index
        leave(index, floor: 0, blackout)
        // Another watch of the same loop may count on the arming: the round of looks restores it.
        clb_beacon_disarm(line.pointee.beacon)
        line.pointee.state.store(.retired, ordering: .releasing)
    }

    /// Seen from outside, its thread is gone: what it was in the midst of did not come to an end.
    func isLost(_ reading: BeaconReading) -> Bool { outside != nil && reading.activity == .finished }

    /// The watch of a loop was paused: a stall in progress ends with it.
    func pause(_ index: Int, _ blackout: Blackout?) {
        guard !registry.entries[index].isPaused else { return }
        leave(index, floor: 0, blackout)
        registry.entries[index].isPaused = true
    }

    /// It goes on: nothing before that counts. A stall in progress ends, if the pause was over before this thread got to see it.
    /// - Returns: false when it does not, because it has just been paused or ended.
    func resume(_ index: Int, _ blackout: Blackout?) -> Bool {
        let entry = registry.entries + index
        let state = registry.lines[index].state
            .compareExchange(expected: .resuming, desired: .active, ordering: .acquiringAndReleasing)
        guard state.exchanged else { return false }
        leave(index, floor: entry.pointee.resumed.load(ordering: .acquiring), blackout)
        entry.pointee.isPaused = false
        registry.lines[index].lastWord = .max
        registry.lines[index].isFresh = false
        return true
    }

    func leave(_ index: Int, floor: UInt64, _ blackout: Blackout?) {
        let line = registry.lines + index
        let entry = registry.entries + index
        let reading = BeaconReading(line.pointee.beacon)
        var blackout = Blackout.joined(entry.pointee.deferredBlackout, blackout)
        entry.pointee.deferredBlackout = nil
        if !entry.pointee.isPaused, reading.word != line.pointee.lastWord, !isLost(reading) {
            inspect(index, reading, at: clock(), blackout)
            blackout = nil
        }
        switch entry.pointee.judge.finish(at: clock(), floor: floor, blackout) {
        case .nothing: break
        case .stalled(let ended): end(index, ended, .abandoned)
        case .suppressed: entry.pointee.suppressed.add(1, ordering: .relaxed)
        }
    }

    /// - Parameter blackout: one since the loops were last looked at.
    func endAll(_ blackout: Blackout? = nil) {
        for index in 0..<registry.count {
            switch registry.lines[index].state.load(ordering: .acquiring) {
            case .active, .paused, .resuming, .ending: finish(index, blackout)
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
