internal import CLagBeacon
internal import CLagLinux
internal import Glibc
internal import LagActivity
internal import LagCapture
internal import LagModel
internal import Synchronization

/// Turns the detector's events into episodes.
extension Watch {
    /// Handles the events of one observation, in their order.
    func act(on events: DetectorEvents, _ reading: BeaconReading, _ now: UInt64) {
        var index = 0
        while index < events.count {
            switch events[index] {
            case .suspected: suspect()
            case .opened(let stall, let interval): open(stall, interval, reading, at: now)
            case .hanging(let stall, let interval): emit(stall, interval, .begin)
            case .ended(let stall, let interval):
                let isTeardown = isTeardown(stall, interval, reading)
                if isTeardown { cold.pointee.dismissed.add(1, ordering: .relaxed) }
                let isSettled = isTeardown || !mayBeTeardown(stall, interval, reading)
                end(stall, interval, isTeardown ? .dismissed : .end, isSettled: isSettled)
            case .unobserved(let stall, let interval):
                if isTeardown(stall, interval, reading) {
                    cold.pointee.dismissed.add(1, ordering: .relaxed)
                } else {
                    cold.pointee.stalls.add(1, ordering: .relaxed)
                    end(stall, interval, .end, .loopMovedOn)
                }
            case .suppressed:
                forgetStall()
                cold.pointee.suppressed.add(1, ordering: .relaxed)
            case .wantsPing: ping()
            }
            index += 1
        }
    }

    /// Whether a loop's stall was ended only by the end of its thread, or of the loop. What a program does after its loop's last
    /// wait (it waits for its children, saves, finalises its interpreter) keeps no work of the loop waiting. A hang's first line
    /// is written by then, and has its end. Only for loops that are known by their waits: others publish it when they stop.
    private func isTeardown(_ stall: ActiveStall, _ interval: StallInterval, _ reading: BeaconReading) -> Bool {
        guard isLast(stall, interval, reading) else { return false }
        if reading.activity == .finished { return cold.pointee.waits == .turns || hasExited(since: interval.since) }
        return cold.pointee.examination.isOver && cold.pointee.examination.quietWord == reading.beaconWord
    }

    /// Whether it is one if the process of a sampled loop exits next.
    private func mayBeTeardown(_ stall: ActiveStall, _ interval: StallInterval, _ reading: BeaconReading) -> Bool {
        cold.pointee.waits == .samples && cold.pointee.examination.mayBeOver
            && cold.pointee.examination.quietWord == reading.beaconWord && isLast(stall, interval, reading)
    }

    private func isLast(_ stall: ActiveStall, _ interval: StallInterval, _ reading: BeaconReading) -> Bool {
        !stall.isReported && stall.lead == .callout && reading.calloutNanoseconds <= interval.since
    }

    /// A sampled loop does not publish its end, which may have been found before it was sampled.
    func hasExited(since begin: UInt64) -> Bool {
        cold.pointee.waits == .samples && cold.pointee.examinable?.hasExited(since: begin) == true
    }

    /// Ends a stall that was in progress when the watch ended.
    func abandon(_ stall: ActiveStall, _ interval: StallInterval, _ reading: BeaconReading) {
        let isTeardown = isLast(stall, interval, reading) && hasExited(since: interval.since)
        if isTeardown { cold.pointee.dismissed.add(1, ordering: .relaxed) }
        end(stall, interval, isTeardown ? .dismissed : .abandoned)
    }

    private func suspect() {
        locate()
        // A second rule's suspicion: what was read before the capture is kept.
        guard cold.pointee.recording == nil else { return }
        let (tid, process) = (cold.pointee.target.tid, services.capture.process)
        guard tid != 0 else { return }
        cold.pointee.earlier = ThreadState(tid: tid, process: process)
        cold.pointee.usage.first = services.totals(of: tid)
        cold.pointee.usage.throttles = services.throttles
    }

    /// Opens a stall: its facts and its stack.
    private func open(_ stall: ActiveStall, _ interval: StallInterval, _ reading: BeaconReading, at now: UInt64) {
        // A suspicion from before the stall belongs to an earlier one.
        if (cold.pointee.usage.first?.reading.time ?? 0) < interval.since {
            suspect()
            // Its state just now does not show whether it waits now and then.
            cold.pointee.earlier = nil
        }
        let tid = cold.pointee.target.tid
        if tid != 0, services.isRemote, cll_thread_is_ending(services.capture.process, tid) != 0 {
            // Its process ended between two waits, and only its slot in the loop table is left: that keeps no user waiting.
            return dismiss()
        }
        if tid != 0, services.isHeld(tid) {
            // A debugger holds the thread: its users do not wait for the loop, but for the debugger.
            cold.pointee.dismissed.add(1, ordering: .relaxed)
            return dismiss()
        }
        // For a loop that moves on, it has not been checked yet whether it is a loop: a thread that serves one other party works
        // only for that one.
        if stall.lead == .starvation, countsSleeps {
            let found = cold.pointee.examinable?.examine(at: now) { isHandler(waitingInto: $0) }
            if found?.isQuiet == true { return dismiss() }
        }
        settle()
        cold.pointee.usage.begin(stall.lead, since: interval.since)
        let number = services.queue.takeFree()
        cold.pointee.condition = .stalled(
            StallRecording(
                sinceNanoseconds: interval.since,
                activity: reading.activity,
                episode: number,
                earlier: cold.pointee.earlier
            )
        )
        // Before the capture, which takes time: if the stall ends meanwhile, its end is known exactly.
        arm()
        if let number {
            describe(services.queue.episodes[number], since: interval.since, reading.activity)
            cold.pointee.running.begin(at: interval.since, now: now)
            services.queue.episodes[number].facts.turnEvents = turnEvents(reading)
            services.refreshModules()
            sampleStack(reading)
        }
        // Last: a stall that is counted has its stack, whatever its thread does from now on.
        cold.pointee.stalls.add(1, ordering: .relaxed)
        if cold.pointee.detector.rules.reportsOpened,
            let present = cold.pointee.detector.presentInterval(at: services.clock())
        {
            emit(stall, present, .opened)
        }
    }

    /// How many events the present turn has to handle; nil if that is not published, or if the turn is over.
    private func turnEvents(_ reading: BeaconReading) -> UInt32? {
        guard cold.pointee.waits == .turns else { return nil }
        let events = clb_beacon_turn_events(hot.pointee.beacon)
        return events > 0 && clb_beacon_word(hot.pointee.beacon) == reading.beaconWord ? events : nil
    }

    /// The stall that was just opened does not count.
    private func dismiss() {
        cold.pointee.detector.dismiss(at: services.clock())
        forgetStall()
    }

    private func forgetStall() {
        cold.pointee.condition = .quiet
        cold.pointee.usage.end()
    }

    // MARK: Episodes

    private func describe(_ episode: Episode, since: UInt64, _ activity: LoopActivity) {
        episode.facts = Episode.Facts()
        episode.facts.watch = index
        episode.facts.activity = activity
        episode.facts.loopStack = cold.pointee.knownLoop.stack
        episode.facts.startRealtimeNanoseconds = Self.realtime(of: since)
        episode.facts.identityRealtimeNanoseconds = episode.facts.startRealtimeNanoseconds
        episode.facts.interval = StallInterval(since: since, seen: since)
        episode.facts.random = (services.random.next(), services.random.next())
        if cold.pointee.waits == .rests { episode.facts.mode = clb_beacon_mode(hot.pointee.beacon) }
        episode.tally.begin(at: since)
        episode.running.begin(at: since)
    }

    /// Emits a line while the stall lasts.
    func emit(_ stall: ActiveStall, _ interval: StallInterval, _ phase: Episode.Phase) {
        guard let episode = cold.pointee.recording?.episode, let line = services.queue.takeFree() else {
            // An episode without a line is not a loss. (By pattern: `==` creates a witness table at its first use, which
            // allocates.)
            if case .begin = phase { cold.pointee.dropped.add(1, ordering: .relaxed) }
            return
        }
        services.queue.episodes[line].copy(services.queue.episodes[episode])
        close(line, stall, interval, phase)
    }

    /// - Parameters:
    ///   - failure: why there is no stack, if the stall was not recorded while it lasted.
    ///   - isSettled: whether it is known that this is the phase.
    func end(
        _ stall: ActiveStall,
        _ interval: StallInterval,
        _ phase: Episode.Phase,
        _ failure: CaptureFailure = .noFreeSlot,
        isSettled: Bool = true
    ) {
        if let episode = cold.pointee.recording?.episode {
            services.takeLateAnswer()
            services.capture.forget(cold.pointee.target.tid)
            close(episode, stall, interval, phase, isSettled: isSettled)
        } else if let number = services.queue.takeFree() {
            // There was no memory for it when it began: its length is known all the same.
            let episode = services.queue.episodes[number]
            describe(episode, since: interval.since, cold.pointee.recording?.activity ?? .notRunning)
            episode.tally.recordFailure(.failed(failure))
            close(number, stall, interval, phase, isSettled: isSettled)
        } else {
            cold.pointee.dropped.add(1, ordering: .relaxed)
        }
        forgetStall()
    }

    private func close(
        _ number: Int,
        _ stall: ActiveStall,
        _ interval: StallInterval,
        _ phase: Episode.Phase,
        isSettled: Bool = true
    ) {
        let episode = services.queue.episodes[number]
        episode.facts.phase = phase
        episode.facts.kind = stall.lead
        episode.facts.kinds = stall.kinds
        // A rule that has taken over since then may know another beginning.
        let shift = Int64(truncatingIfNeeded: interval.since &- episode.facts.interval.since)
        episode.facts.startRealtimeNanoseconds &+= shift
        episode.facts.interval = interval
        episode.facts.thresholdNanoseconds = stall.thresholdNanoseconds
        if stall.lead == .callout, cold.pointee.examination.meter.covers(since: interval.since) {
            episode.facts.pending = cold.pointee.examination.meter
        }
        episode.tally.close(at: interval.until)
        episode.running.close(at: interval.until)
        if let last = services.totals(of: cold.pointee.target.tid) {
            episode.facts.usage = cold.pointee.usage.usage(
                since: interval.likely,
                until: interval.until,
                length: interval.length,
                spansCallouts: stall.lead != .callout,
                asleep: episode.tally.asleepNanoseconds,
                last
            )
            episode.facts.usage.attribute(throttled: throttled(since: interval.likely))
            episode.facts.usage.stallNanoseconds = interval.length
            // At its end the thread may be gone with its process: then this is what is known.
            if let going = cold.pointee.recording?.episode, going != number {
                services.queue.episodes[going].facts.usage = episode.facts.usage
            }
        }
        isSettled ? hand(over: number) : keep(number)
    }

    /// What quotas took since a stall began, at most; nil: not known.
    private func throttled(since begun: UInt64) -> UInt64? {
        // The readings at its first sign: by now, both may have been made during it.
        let throttles = cold.pointee.usage.throttles ?? services.throttles
        guard let present = services.readThrottling() else { return nil }
        return throttles.growth(since: begun, to: present)
    }

    /// The wall clock's time at a monotonic time, calculated from both clocks now.
    private static func realtime(of monotonic: UInt64) -> Int64 {
        clb_realtime_ns() - Int64(clamping: clb_now_ns().saturatingDifference(monotonic))
    }
}
