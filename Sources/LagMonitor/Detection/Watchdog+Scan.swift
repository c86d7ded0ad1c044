internal import CLagBeacon
internal import LagActivity
internal import Synchronization

/// One look at all loops.
extension Watchdog {
    /// What the loop over the entries gathers.
    private struct ScanState {
        private(set) var now: UInt64
        let processPause: ProcessPause?
        var next: UInt64 = .max
        /// The next tick of a loop that waits: looked at as well while others work, because it is not armed then.
        var idleNext: UInt64 = .max
        var busy = false
        var stalled = false
        var suspicious = false
        var retired = false
        private var tickInterval: UInt64 = 0
        private var tick: UInt64 = 0

        init(now: UInt64, processPause: ProcessPause?) {
            self.now = now
            self.processPause = processPause
        }

        /// A capture takes its time: what is seen after it is seen then. Not if it took so long that the process may have been
        /// stopped: whether it was is judged after the look.
        mutating func advanceClock(at time: UInt64) {
            guard time > now, time - now < Watchdog.suspicionPollNanoseconds else { return }
            now = time
            tickInterval = 0
        }

        /// The next tick after `now`. Loops mostly have one interval: the division is made once, not for each.
        mutating func nextTick(ofInterval interval: UInt64) -> UInt64 {
            if interval != tickInterval {
                tickInterval = interval
                tick = now.nextTick(ofInterval: interval)
            }
            return tick
        }
    }

    /// What is to be done after a look.
    struct Plan: Equatable {
        /// When to look again; `.max`: when a loop wakes.
        var deadline: UInt64
        /// Whether a post means news: a stall is being timed, or every loop sleeps.
        var wantsPosts: Bool
        /// Whether a loop may be stalled.
        var isClose = false
    }

    /// Looks at every loop.
    /// - Parameter processPause: a time since the last look in which the process may not have run.
    func scan(at now: UInt64, processPause: ProcessPause? = nil) -> Plan {
        var scanState = ScanState(now: now, processPause: processPause)
        let count = registry.count
        let readsClocks = count <= Self.readClocks
        for index in 0..<count {
            // A look may take long; whoever stops the monitor waits for this thread.
            if isStopping { break }
            if index + Self.fetchedAhead < count { clb_beacon_prefetch(registry.hotParts[index + Self.fetchedAhead].beacon) }
            visit(index, &scanState)
            // Afterwards: a stall that is over is accounted for by what was read around its beginning.
            if readsClocks { readClock(index) }
        }
        if scanState.busy { scanState.next = min(scanState.next, scanState.idleNext) }
        if scanState.suspicious { scanState.next = min(scanState.next, scanState.now.saturatingSum(Self.suspicionPollNanoseconds)) }
        if scanState.retired {
            notify()
            if scanState.stalled, !rearm() { scanState.next = min(scanState.next, now.saturatingSum(Self.shortWaitNanoseconds)) }
        }
        if !scanState.busy, !park() { scanState.next = min(scanState.next, now.saturatingSum(Self.shortWaitNanoseconds)) }
        return Plan(deadline: scanState.next, wantsPosts: scanState.stalled || !scanState.busy, isClose: scanState.suspicious)
    }

    /// Of so many loops the threads' CPU clocks are read at every look, which takes some 0.3 µs each.
    private static let readClocks = 64

    /// The beacons lie anywhere, and mostly in another processor's cache: so many loops ahead they are asked for.
    private static let fetchedAhead = 12

    /// After an arming that came too late because a loop moved meanwhile: look again at once, but not in a tight loop.
    static let shortWaitNanoseconds: UInt64 = 1_000_000

    private func visit(_ index: Int, _ scanState: inout ScanState) {
        let hot = registry.hotParts + index
        let cold = registry.coldParts + index
        switch hot.pointee.state.load(ordering: .acquiring) {
        case .free, .retired: return
        case .paused:
            pause(index, scanState.processPause)
            if BeaconReading(hot.pointee.beacon).activity == .finished {
                finish(index, scanState.processPause)
                scanState.retired = true
            }
            return
        case .resuming:
            guard resume(index, scanState.processPause) else { return }
        case .ending:
            finish(index, scanState.processPause)
            scanState.retired = true
            return
        case .active: break
        }
        if fastPoll(hot, &scanState) { return }
        var reading = BeaconReading(hot.pointee.beacon)
        let hasChanged = reading.word != hot.pointee.lastWord
        let wasStalled = cold.pointee.detector.isStalled
        let processPause = ProcessPause.joined(cold.pointee.deferredProcessPause, scanState.processPause)
        if wasStalled, isLost(reading) {
            finish(index, processPause)
            scanState.retired = true
            return
        }
        cold.pointee.deferredProcessPause = nil
        if hasChanged, mustDefer(index, reading, wasStalled, scanState.now) {
            cold.pointee.deferredProcessPause = processPause
            // Once the length of this round is judged, it will be known whether the process was stopped in it.
            scanState.next = scanState.now
            scanState.busy = true
            return
        }
        if let processPause, let episode = cold.pointee.episode {
            queue.episodes[episode].tally.skip(over: processPause, until: scanState.now)
        }
        // The end of a stall may be younger than the beginning of this round of looks.
        inspect(index, reading, at: hasChanged && wasStalled ? clock() : scanState.now, processPause)
        if !wasStalled, cold.pointee.detector.isStalled { scanState.advanceClock(at: clock()) }
        if cold.pointee.detector.isStalled {
            // Arm, then look again: a stall that ended in between is not told by the beacon.
            arm(index)
            reading = BeaconReading(hot.pointee.beacon)
            if reading.word != hot.pointee.lastWord {
                if mustDefer(index, reading, true, scanState.now) {
                    scanState.next = scanState.now
                } else {
                    inspect(index, reading, at: clock(), nil)
                }
            }
        }
        guard reading.activity != .finished else {
            finish(index, nil)
            scanState.retired = true
            return
        }
        if cold.pointee.detector.isStalled, cold.pointee.nextStackSampleNanoseconds <= scanState.now {
            sampleStack(index, reading)
            scanState.advanceClock(at: clock())
        }
        hot.pointee.deadline = min(cold.pointee.detector.nextPoll ?? .max, cold.pointee.nextStackSampleNanoseconds)
        scanState.next = min(scanState.next, hot.pointee.deadline)
        if cold.pointee.detector.isStalled { scanState.stalled = true }
        if cold.pointee.detector.isSuspicious { scanState.suspicious = true }
        if hasChanged || reading.isWorking {
            scanState.busy = true
            scanState.next = min(scanState.next, hot.pointee.nextTick)
        } else {
            scanState.idleNext = min(scanState.idleNext, scanState.nextTick(ofInterval: hot.pointee.tickNanoseconds))
        }
    }

    /// Whether the end of a stall is to be looked at in another round, because this one has taken so long that the process may have
    /// been stopped in it. Not twice in a row: looks at other loops may take long again and again.
    private func mustDefer(_ index: Int, _ reading: BeaconReading, _ wasStalled: Bool, _ now: UInt64) -> Bool {
        let cold = registry.coldParts + index
        // A starvation goes on with other words.
        let isOver = wasStalled && (cold.pointee.detector.activeStall?.lead != .starvation || !reading.isWorking)
        let isEnd = isOver || clb_beacon_stretch_count(registry.hotParts[index].beacon) != registry.hotParts[index].stretchCount
        let isLate = isEnd && clock().saturatingDifference(now) >= Self.suspicionPollNanoseconds
        cold.pointee.isDeferred = isLate && !cold.pointee.isDeferred
        return cold.pointee.isDeferred
    }

    /// The usual case of a busy loop, and short because there may be thousands: it is at work at another word than before.
    private func fastPoll(_ hot: UnsafeMutablePointer<WatchHotPart>, _ scanState: inout ScanState) -> Bool {
        let word = clb_beacon_word(hot.pointee.beacon)
        let woke = clb_beacon_woke_ns(hot.pointee.beacon)
        let (busyFor, isAwake) = (scanState.now &- woke, woke > 0)
        guard word != hot.pointee.lastWord, hot.pointee.canFastPoll, scanState.processPause == nil,
            LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)), clb_beacon_stretch_count(hot.pointee.beacon) == hot.pointee.stretchCount,
            // A wake later than this look wraps around, and takes the long way; a loop that tells none cannot be starved.
            busyFor < hot.pointee.starvationNanoseconds || !isAwake
        else { return false }
        hot.pointee.lastWord = word
        hot.pointee.seen = scanState.now
        hot.pointee.hasUnreportedFastPoll = true
        hot.pointee.nextTick = scanState.nextTick(ofInterval: hot.pointee.tickNanoseconds)
        hot.pointee.deadline = .max
        scanState.busy = true
        scanState.next = min(scanState.next, hot.pointee.nextTick)
        if isAwake, hot.pointee.starvationNanoseconds &- busyFor < hot.pointee.tickNanoseconds {
            // A starvation may reach its threshold before the next tick.
            hot.pointee.deadline = woke.saturatingSum(hot.pointee.starvationNanoseconds)
            scanState.next = min(scanState.next, hot.pointee.deadline)
        }
        return true
    }

    /// Lets the detector see a reading, if it changed or if a time has come.
    func inspect(_ index: Int, _ reading: BeaconReading, at now: UInt64, _ processPause: ProcessPause?) {
        let hot = registry.hotParts + index
        let cold = registry.coldParts + index
        let hasChanged = reading.word != hot.pointee.lastWord
        if hot.pointee.hasUnreportedFastPoll {
            // What was noted in passing, with the beginning that the beacon tells: the word's, if it still stands there.
            let noted = BeaconReading(word: hot.pointee.lastWord, calloutNanoseconds: reading.calloutNanoseconds)
            cold.pointee.detector.recordProgress(to: noted, at: max(hot.pointee.seen, min(noted.calloutNanoseconds, now)))
            hot.pointee.hasUnreportedFastPoll = false
        }
        hot.pointee.lastWord = reading.word
        let isTick = hot.pointee.nextTick <= now
        guard hasChanged || isTick || hot.pointee.deadline <= now || processPause != nil || cold.pointee.detector.isSuspicious else {
            return
        }
        var observation = Observation(reading, at: now, isTick: isTick && !hasChanged, processPause: processPause)
        observation.pingedNanoseconds = cold.pointee.pinged.load(ordering: .acquiring)
        observation.tickedNanoseconds = cold.pointee.ticks?.lastNanoseconds ?? 0
        observation.sample = sample(index, reading, at: now)
        if hasChanged { replay(index, reading, observation) }
        let events = cold.pointee.detector.observe(observation)
        hot.pointee.canFastPoll = cold.pointee.detector.canFastPoll
        if hasChanged || isTick { hot.pointee.nextTick = now.nextTick(ofInterval: hot.pointee.tickNanoseconds) }
        act(on: events, index, reading, now)
    }

    /// Takes what the loop has noted of itself since the last look: stalls that were over before this thread came to look.
    private func replay(_ index: Int, _ reading: BeaconReading, _ observation: Observation) {
        let hot = registry.hotParts + index
        let stretchCount = clb_beacon_stretch_count(hot.pointee.beacon)
        while hot.pointee.stretchCount != stretchCount {
            hot.pointee.stretchCount &+= 1
            var stretch = clb_beacon_stretch()
            guard clb_beacon_read_stretch(hot.pointee.beacon, hot.pointee.stretchCount, &stretch) != 0 else { continue }
            let events = registry.coldParts[index].detector.replay(since: stretch.since_ns, until: stretch.until_ns, observation)
            act(on: events, index, reading, observation.now)
        }
    }

    /// Asks a loop to tell when the stall in progress is over.
    func arm(_ index: Int) {
        let beacon = registry.hotParts[index].beacon
        switch registry.coldParts[index].detector.activeStall?.lead {
        case .callout: return arm(beacon, UInt32(CLB_ARMED_ANY))
        case .starvation: break
        // The others know their end without the loop's telling; one that goes on working would answer with every activity.
        case .ping, .frame, .sample, nil: return
        }
        // A loop that is run for one source at a time answers each time, and goes on: then the ticks have to do.
        guard clock() &- clb_beacon_answered_ns(beacon) > Self.suspicionPollNanoseconds else { return }
        arm(beacon, UInt32(CLB_ARMED_REST))
    }

    private func arm(_ beacon: UnsafeMutablePointer<clb_beacon>, _ armed: UInt32) {
        // Another process's loop knows itself whom to wake.
        if isRemote { clb_beacon_rearm(beacon, armed) } else { clb_beacon_arm(beacon, semaphore.raw, armed) }
    }

    /// Arms the stalled loops again, of which an ended watch may have disarmed one. False when one has moved meanwhile.
    private func rearm() -> Bool {
        var unmoved = true
        for index in 0..<registry.count {
            let hot = registry.hotParts + index
            guard hot.pointee.state.load(ordering: .acquiring) == .active, registry.coldParts[index].detector.isStalled else {
                continue
            }
            arm(index)
            if clb_beacon_word(hot.pointee.beacon) != hot.pointee.lastWord { unmoved = false }
        }
        return unmoved
    }

    /// Arms every beacon, so that the first loop to wake posts. False when one did before it was armed.
    private func park() -> Bool {
        for index in 0..<registry.count {
            let hot = registry.hotParts + index
            guard hot.pointee.state.load(ordering: .acquiring) == .active else { continue }
            arm(hot.pointee.beacon, UInt32(CLB_ARMED_ANY))
            if clb_beacon_word(hot.pointee.beacon) != hot.pointee.lastWord { return false }
        }
        return true
    }
}
