internal import CLagBeacon
internal import LagActivity
internal import LagModel
internal import Synchronization

/// One watch in a scan.
extension Watch {
    /// Handles what the loop does now, and what its owner requested.
    func visit(_ scan: inout ScanState) {
        switch hot.pointee.state.load(ordering: .acquiring) {
        case .free, .retired: return
        case .paused:
            pause(scan.processPause)
            if reading.activity == .finished { retire(scan.processPause, &scan) }
            return
        case .resuming:
            guard resume(scan.processPause) else { return }
        case .ending: return retire(scan.processPause, &scan)
        case .active: break
        }
        if fastPoll(&scan) { return }
        visitClosely(&scan)
    }

    private func retire(_ processPause: ProcessPause?, _ scan: inout ScanState) {
        finish(processPause)
        scan.hasRetired = true
    }

    /// The usual case of a busy loop, kept short because there may be thousands: it works at a new word.
    private func fastPoll(_ scan: inout ScanState) -> Bool {
        let word = clb_beacon_word(hot.pointee.beacon)
        let woke = clb_beacon_woke_ns(hot.pointee.beacon)
        let (busyFor, isAwake) = (scan.now &- woke, woke > 0)
        let began = clb_beacon_callout_ns(hot.pointee.beacon)
        guard word != hot.pointee.lastWord, hot.pointee.canFastPoll, scan.processPause == nil,
            LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)),
            clb_beacon_stretch_count(hot.pointee.beacon) == hot.pointee.stretchCount,
            // A wake later than this scan wraps around and takes the long path; a loop that has published no wake cannot be
            // starved.
            busyFor < hot.pointee.starvationNanoseconds || !isAwake,
            // Older than two ticks when it is first seen: the watchdog was late, and it may be a stall.
            scan.now &- began < 2 * hot.pointee.tickNanoseconds || began == 0
        else { return false }
        hot.pointee.lastWord = word
        hot.pointee.seenNanoseconds = scan.now
        hot.pointee.hasUnreportedFastPoll = true
        hot.pointee.nextTickNanoseconds = scan.nextTick(ofInterval: hot.pointee.tickNanoseconds)
        hot.pointee.deadlineNanoseconds = .max
        scan.isBusy = true
        scan.nextNanoseconds = min(scan.nextNanoseconds, hot.pointee.nextTickNanoseconds)
        if services.isRemote { cold.pointee.examinable?.recordTurn() }
        let since = isAwake ? woke : began
        if scan.now.saturatingDifference(since) >= Self.awakeNanoseconds { pollRunning(reading, &scan) }
        if isAwake, hot.pointee.starvationNanoseconds &- busyFor < hot.pointee.tickNanoseconds {
            // A starvation may reach its threshold before the next tick.
            hot.pointee.deadlineNanoseconds = woke.saturatingSum(hot.pointee.starvationNanoseconds)
            scan.nextNanoseconds = min(scan.nextNanoseconds, hot.pointee.deadlineNanoseconds)
        }
        return true
    }

    private func visitClosely(_ scan: inout ScanState) {
        let (isHeld, stop) = pollHold(self.reading, &scan)
        guard !isHeld else {
            settleIfKnown(self.reading, at: scan.now)
            return scheduleHoldPoll(&scan)
        }
        examine(scan)
        var reading = self.reading
        settleIfKnown(reading, at: scan.now)
        let hasChanged = reading.beaconWord != hot.pointee.lastWord
        let wasStalled = cold.pointee.detector.isStalled
        let processPause = possible(
            ProcessPause.joined(ProcessPause.joined(cold.pointee.takeDeferredPause(), scan.processPause), stop)
        )
        if wasStalled, isLost(reading) { return retire(processPause, &scan) }
        if hasChanged, mustDefer(reading, wasStalled, scan.now, processPause) {
            // When the length of this scan is known, it is also known whether the process was stopped in it.
            scan.nextNanoseconds = scan.now
            scan.isBusy = true
            return
        }
        if let processPause, let episode = cold.pointee.recording?.episode {
            services.queue.episodes[episode].tally.skip(over: processPause, until: scan.now)
        }
        // The end of a stall may be later than the beginning of this scan.
        observe(reading, at: hasChanged && wasStalled ? services.clock() : scan.now, processPause)
        if !wasStalled, cold.pointee.detector.isStalled { scan.advanceClock(to: services.clock()) }
        if cold.pointee.detector.isStalled {
            // Arm, then read again: the beacon does not report a stall that ended in between.
            arm()
            reading = self.reading
            if reading.beaconWord != hot.pointee.lastWord {
                if mustDefer(reading, true, scan.now, nil) {
                    scan.nextNanoseconds = scan.now
                } else {
                    observe(reading, at: services.clock(), nil)
                }
            }
        }
        reportIfRequested(at: scan.now)
        guard reading.activity != .finished else { return retire(nil, &scan) }
        if cold.pointee.detector.isStalled, let recording = cold.pointee.recording, recording.nextSampleNanoseconds <= scan.now {
            sampleStack(reading)
            scan.advanceClock(to: services.clock())
        } else {
            pollRunning(reading, &scan)
        }
        schedule(reading, hasChanged: hasChanged, &scan)
    }

    /// Reports the stall in progress early, if the owner requested that.
    func reportIfRequested(at now: UInt64) {
        let requested = cold.pointee.reportRequested.load(ordering: .acquiring)
        guard requested > 0,
            case .hanging(let stall, let interval)? =
                cold.pointee.detector.reportNow(begunBefore: requested, at: now)
        else { return }
        emit(stall, interval, .begin)
    }

    /// When this loop is to be observed again.
    private func schedule(_ reading: BeaconReading, hasChanged: Bool, _ scan: inout ScanState) {
        let nextSample = cold.pointee.recording?.nextSampleNanoseconds ?? .max
        let isQuiet = reading.word != reading.beaconWord
        let nextExamination = isQuiet ? cold.pointee.examination.next : .max
        // `min` of more than three values allocates an array.
        let soonest = min(nextSample, nextExamination, nextHoldPoll)
        hot.pointee.deadlineNanoseconds = min(cold.pointee.detector.nextPoll ?? .max, soonest)
        scan.nextNanoseconds = min(scan.nextNanoseconds, hot.pointee.deadlineNanoseconds)
        if cold.pointee.detector.isStalled { scan.isStalled = true }
        if cold.pointee.detector.isSuspicious { scan.isSuspicious = true }
        if hasChanged || reading.isWorking {
            scan.isBusy = true
            scan.nextNanoseconds = min(scan.nextNanoseconds, hot.pointee.nextTickNanoseconds)
        } else {
            scan.idleNextNanoseconds = min(scan.idleNextNanoseconds, scan.nextTick(ofInterval: hot.pointee.tickNanoseconds))
        }
    }

    /// Whether the end of a stall is left to the next scan, because this one has taken so long that the process may have been
    /// stopped in it.
    private func mustDefer(_ reading: BeaconReading, _ wasStalled: Bool, _ now: UInt64, _ processPause: ProcessPause?) -> Bool {
        // A starvation continues with other words.
        let isOver = wasStalled && (cold.pointee.detector.activeStall?.lead != .starvation || !reading.isWorking)
        let isEnd = isOver || clb_beacon_stretch_count(hot.pointee.beacon) != hot.pointee.stretchCount
        let isLate = isEnd && services.clock().saturatingDifference(now) >= Watchdog.suspicionPollNanoseconds
        guard isLate, case .none = cold.pointee.deferral else {
            cold.pointee.deferral = .none
            return false
        }
        cold.pointee.deferral = .deferred(processPause)
        return true
    }

    /// Lets the detector observe a reading, if it changed or if it is time.
    func observe(_ reading: BeaconReading, at now: UInt64, _ processPause: ProcessPause?) {
        let isAtRest = reading.word != reading.beaconWord
        let hasChanged = reading.beaconWord != hot.pointee.lastWord || isAtRest != cold.pointee.isShownAtRest
        if hot.pointee.hasUnreportedFastPoll {
            // What fast polls found, with the beacon's beginning if it still belongs to the word.
            var passed = BeaconReading(word: hot.pointee.lastWord, calloutNanoseconds: reading.calloutNanoseconds)
            passed.sampled = reading.sampled
            cold.pointee.detector.recordProgress(
                to: passed,
                at: max(hot.pointee.seenNanoseconds, min(passed.calloutNanoseconds, now))
            )
            hot.pointee.hasUnreportedFastPoll = false
        }
        hot.pointee.lastWord = reading.beaconWord
        cold.pointee.isShownAtRest = isAtRest
        let isTick = hot.pointee.nextTickNanoseconds <= now
        guard
            hasChanged || isTick || hot.pointee.deadlineNanoseconds <= now || processPause != nil
                || cold.pointee.detector.isSuspicious
        else {
            return
        }
        var observation = Observation(reading, at: now, isTick: isTick && !hasChanged, processPause: processPause)
        observation.pingedNanoseconds = cold.pointee.pingedNanoseconds.load(ordering: .acquiring)
        observation.tickedNanoseconds = cold.pointee.ticks?.lastNanoseconds ?? 0
        observation.sample = sampleForRule(reading, at: now)
        observation.busyTime = observeRests(reading, at: now)
        observation.mayBeAtRest = cold.pointee.examinable != nil
        if hasChanged { replay(reading, observation) }
        let events = cold.pointee.detector.observe(observation)
        hot.pointee.canFastPoll = cold.pointee.detector.canFastPoll && !cold.pointee.unreportedEnd.exists
        if hasChanged || isTick { hot.pointee.nextTickNanoseconds = now.nextTick(ofInterval: hot.pointee.tickNanoseconds) }
        act(on: events, reading, now)
    }

    /// Handles what the loop has recorded itself since the last observation: stalls that were over before this thread observed
    /// it.
    private func replay(_ reading: BeaconReading, _ observation: Observation) {
        let stretchCount = clb_beacon_stretch_count(hot.pointee.beacon)
        // The first of them is the stall in progress, which has its line.
        var isKnown = cold.pointee.detector.activeStall.map { $0.lead != .starvation } ?? false
        // If there are more than the ring has places, some have certainly been overwritten. (Another process's number may be
        // anything.) Widened, because in an unoptimised build the first generic call with a type that is not used elsewhere here
        // calls malloc for that type's witnesses.
        let lost = UInt64(stretchCount &- hot.pointee.stretchCount).saturatingDifference(UInt64(CLB_BEACON_STRETCHES))
        if lost > 0 {
            hot.pointee.stretchCount &+= UInt16(lost)
            recordLost(lost - (isKnown ? 1 : 0))
            isKnown = false
        }
        while hot.pointee.stretchCount != stretchCount {
            hot.pointee.stretchCount &+= 1
            var stretch = clb_beacon_stretch()
            let isThere = clb_beacon_read_stretch(hot.pointee.beacon, hot.pointee.stretchCount, &stretch) != 0
            defer { isKnown = false }
            guard isThere else {
                if !isKnown { recordLost(1) }
                continue
            }
            // It kept no work waiting.
            if stretch.since_ns == cold.pointee.examination.quietCallout { continue }
            let events = cold.pointee.detector.replay(since: stretch.since_ns, until: stretch.until_ns, observation)
            act(on: events, reading, observation.now)
        }
    }

    /// Stalls about which only their existence is known; counted if the loop records only stalls, so not for a watch with a lower
    /// threshold.
    private func recordLost(_ count: UInt64) {
        guard count > 0, let rule = cold.pointee.detector.rules.callout,
            clb_beacon_recorded_ns(hot.pointee.beacon) >= rule.thresholdNanoseconds
        else { return }
        cold.pointee.stalls.add(count, ordering: .relaxed)
        cold.pointee.dropped.add(count, ordering: .relaxed)
    }
}
