internal import CLagBeacon
internal import LagActivity
internal import Synchronization

/// One look at all loops.
extension Watchdog {
    /// What the loop over the entries gathers.
    private struct Look {
        private(set) var now: UInt64
        let blackout: Blackout?
        var next: UInt64 = .max
        /// The next tick of a loop that waits: looked at as well while others work, because it is not armed then.
        var idleNext: UInt64 = .max
        var busy = false
        var stalled = false
        var suspicious = false
        var retired = false
        private var tickInterval: UInt64 = 0
        private var tick: UInt64 = 0

        init(now: UInt64, blackout: Blackout?) {
            self.now = now
            self.blackout = blackout
        }

        /// A capture takes its time: what is seen after it is seen then. Not if it took so long that the process may have been
        /// stopped: whether it was is judged after the look.
        mutating func goOn(at time: UInt64) {
            guard time > now, time - now < Watchdog.closeLookNanoseconds else { return }
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
    /// - Parameter blackout: a time since the last look in which the process may not have run.
    func scan(at now: UInt64, blackout: Blackout? = nil) -> Plan {
        var look = Look(now: now, blackout: blackout)
        let count = registry.count
        let readsClocks = count <= Self.readClocks
        for index in 0..<count {
            // A look may take long; whoever stops the monitor waits for this thread.
            if isStopping { break }
            if index + Self.fetchedAhead < count { clb_beacon_prefetch(registry.lines[index + Self.fetchedAhead].beacon) }
            visit(index, &look)
            // Afterwards: a stall that is over is accounted for by what was read around its beginning.
            if readsClocks { readClock(index) }
        }
        if look.busy { look.next = min(look.next, look.idleNext) }
        if look.suspicious { look.next = min(look.next, look.now.saturatingSum(Self.closeLookNanoseconds)) }
        if look.retired {
            notify()
            if look.stalled, !rearm() { look.next = min(look.next, now.saturatingSum(Self.shortWaitNanoseconds)) }
        }
        if !look.busy, !park() { look.next = min(look.next, now.saturatingSum(Self.shortWaitNanoseconds)) }
        return Plan(deadline: look.next, wantsPosts: look.stalled || !look.busy, isClose: look.suspicious)
    }

    /// Of so many loops the threads' CPU clocks are read at every look, which takes some 0.3 µs each.
    private static let readClocks = 64

    /// The beacons lie anywhere, and mostly in another processor's cache: so many loops ahead they are asked for.
    private static let fetchedAhead = 12

    /// After an arming that came too late because a loop moved meanwhile: look again at once, but not in a tight loop.
    static let shortWaitNanoseconds: UInt64 = 1_000_000

    private func visit(_ index: Int, _ look: inout Look) {
        let line = registry.lines + index
        let entry = registry.entries + index
        switch line.pointee.state.load(ordering: .acquiring) {
        case .free, .retired: return
        case .paused:
            pause(index, look.blackout)
            if BeaconReading(line.pointee.beacon).activity == .finished {
                finish(index, look.blackout)
                look.retired = true
            }
            return
        case .resuming:
            guard resume(index, look.blackout) else { return }
        case .ending:
            finish(index, look.blackout)
            look.retired = true
            return
        case .active: break
        }
        if glance(line, &look) { return }
        var reading = BeaconReading(line.pointee.beacon)
        let hasChanged = reading.word != line.pointee.lastWord
        let wasStalled = entry.pointee.judge.isStalled
        let blackout = Blackout.joined(entry.pointee.deferredBlackout, look.blackout)
        if wasStalled, isLost(reading) {
            finish(index, blackout)
            look.retired = true
            return
        }
        entry.pointee.deferredBlackout = nil
        if hasChanged, mustDefer(index, reading, wasStalled, look.now) {
            entry.pointee.deferredBlackout = blackout
            // Once the length of this round is judged, it will be known whether the process was stopped in it.
            look.next = look.now
            look.busy = true
            return
        }
        if let blackout, let episode = entry.pointee.episode {
            queue.episodes[episode].tally.pass(over: blackout, until: look.now)
        }
        // The end of a stall may be younger than the beginning of this round of looks.
        inspect(index, reading, at: hasChanged && wasStalled ? clock() : look.now, blackout)
        if !wasStalled, entry.pointee.judge.isStalled { look.goOn(at: clock()) }
        if entry.pointee.judge.isStalled {
            // Arm, then look again: a stall that ended in between is not told by the beacon.
            arm(index)
            reading = BeaconReading(line.pointee.beacon)
            if reading.word != line.pointee.lastWord {
                if mustDefer(index, reading, true, look.now) {
                    look.next = look.now
                } else {
                    inspect(index, reading, at: clock(), nil)
                }
            }
        }
        guard reading.activity != .finished else {
            finish(index, nil)
            look.retired = true
            return
        }
        if entry.pointee.judge.isStalled, entry.pointee.lookNanoseconds <= look.now {
            lookAtStack(index, reading)
            look.goOn(at: clock())
        }
        line.pointee.deadline = min(entry.pointee.judge.nextLook ?? .max, entry.pointee.lookNanoseconds)
        look.next = min(look.next, line.pointee.deadline)
        if entry.pointee.judge.isStalled { look.stalled = true }
        if entry.pointee.judge.isSuspicious { look.suspicious = true }
        if hasChanged || reading.isWorking {
            look.busy = true
            look.next = min(look.next, line.pointee.nextTick)
        } else {
            look.idleNext = min(look.idleNext, look.nextTick(ofInterval: line.pointee.tickNanoseconds))
        }
    }

    /// Whether the end of a stall is to be looked at in another round, because this one has taken so long that the process may have
    /// been stopped in it. Not twice in a row: looks at other loops may take long again and again.
    private func mustDefer(_ index: Int, _ reading: BeaconReading, _ wasStalled: Bool, _ now: UInt64) -> Bool {
        let entry = registry.entries + index
        // A starvation goes on with other words.
        let isOver = wasStalled && (entry.pointee.judge.incident?.lead != .starvation || !reading.isWorking)
        let isEnd = isOver || clb_beacon_noted(registry.lines[index].beacon) != registry.lines[index].noted
        let isLate = isEnd && clock().saturatingDifference(now) >= Self.closeLookNanoseconds
        entry.pointee.isDeferred = isLate && !entry.pointee.isDeferred
        return entry.pointee.isDeferred
    }

    /// The usual case of a busy loop, and short because there may be thousands: it is at work at another word than before.
    private func glance(_ line: UnsafeMutablePointer<WatchLine>, _ look: inout Look) -> Bool {
        let word = clb_beacon_word(line.pointee.beacon)
        let woke = clb_beacon_woke_ns(line.pointee.beacon)
        let (busyFor, isAwake) = (look.now &- woke, woke > 0)
        guard word != line.pointee.lastWord, line.pointee.isPlain, look.blackout == nil,
            LoopActivity.isWorking(UInt8(truncatingIfNeeded: word)), clb_beacon_noted(line.pointee.beacon) == line.pointee.noted,
            // A wake later than this look wraps around, and takes the long way; a loop that tells none cannot be starved.
            busyFor < line.pointee.starvationNanoseconds || !isAwake
        else { return false }
        line.pointee.lastWord = word
        line.pointee.seen = look.now
        line.pointee.isFresh = true
        line.pointee.nextTick = look.nextTick(ofInterval: line.pointee.tickNanoseconds)
        line.pointee.deadline = .max
        look.busy = true
        look.next = min(look.next, line.pointee.nextTick)
        if isAwake, line.pointee.starvationNanoseconds &- busyFor < line.pointee.tickNanoseconds {
            // A starvation may reach its threshold before the next tick.
            line.pointee.deadline = woke.saturatingSum(line.pointee.starvationNanoseconds)
            look.next = min(look.next, line.pointee.deadline)
        }
        return true
    }

    /// Lets the judge see a reading, if it changed or if a time has come.
    func inspect(_ index: Int, _ reading: BeaconReading, at now: UInt64, _ blackout: Blackout?) {
        let line = registry.lines + index
        let entry = registry.entries + index
        let hasChanged = reading.word != line.pointee.lastWord
        if line.pointee.isFresh {
            // What was noted in passing, with the beginning that the beacon tells: the word's, if it still stands there.
            let noted = BeaconReading(word: line.pointee.lastWord, calloutNanoseconds: reading.calloutNanoseconds)
            entry.pointee.judge.moveOn(to: noted, at: max(line.pointee.seen, min(noted.calloutNanoseconds, now)))
            line.pointee.isFresh = false
        }
        line.pointee.lastWord = reading.word
        let isTick = line.pointee.nextTick <= now
        guard hasChanged || isTick || line.pointee.deadline <= now || blackout != nil || entry.pointee.judge.isSuspicious else {
            return
        }
        var sight = Sight(reading, at: now, isTick: isTick && !hasChanged, blackout: blackout)
        sight.pingedNanoseconds = entry.pointee.pinged.load(ordering: .acquiring)
        sight.tickedNanoseconds = entry.pointee.ticks?.lastNanoseconds ?? 0
        sight.sample = sample(index, reading, at: now)
        if hasChanged { lookBack(index, reading, sight) }
        let judgement = entry.pointee.judge.look(sight)
        line.pointee.isPlain = entry.pointee.judge.mayBeGlanced
        if hasChanged || isTick { line.pointee.nextTick = now.nextTick(ofInterval: line.pointee.tickNanoseconds) }
        act(on: judgement, index, reading, now)
    }

    /// Takes what the loop has noted of itself since the last look: stalls that were over before this thread came to look.
    private func lookBack(_ index: Int, _ reading: BeaconReading, _ sight: Sight) {
        let line = registry.lines + index
        let noted = clb_beacon_noted(line.pointee.beacon)
        while line.pointee.noted != noted {
            line.pointee.noted &+= 1
            var note = clb_beacon_note()
            guard clb_beacon_read_note(line.pointee.beacon, line.pointee.noted, &note) != 0 else { continue }
            let judgement = registry.entries[index].judge.lookBack(since: note.since_ns, until: note.until_ns, sight)
            act(on: judgement, index, reading, sight.now)
        }
    }

    /// Asks a loop to tell when the stall in progress is over.
    func arm(_ index: Int) {
        let beacon = registry.lines[index].beacon
        switch registry.entries[index].judge.incident?.lead {
        case .callout: return arm(beacon, UInt32(CLB_ARMED_ANY))
        case .starvation: break
        // The others know their end without the loop's telling; one that goes on working would answer with every activity.
        case .ping, .frame, .sample, nil: return
        }
        // A loop that is run for one source at a time answers each time, and goes on: then the ticks have to do.
        guard clock() &- clb_beacon_answered_ns(beacon) > Self.closeLookNanoseconds else { return }
        arm(beacon, UInt32(CLB_ARMED_REST))
    }

    private func arm(_ beacon: UnsafeMutablePointer<clb_beacon>, _ armed: UInt32) {
        // Another process's loop knows itself whom to wake.
        if isForeign { clb_beacon_rearm(beacon, armed) } else { clb_beacon_arm(beacon, semaphore.raw, armed) }
    }

    /// Arms the stalled loops again, of which an ended watch may have disarmed one. False when one has moved meanwhile.
    private func rearm() -> Bool {
        var unmoved = true
        for index in 0..<registry.count {
            let line = registry.lines + index
            guard line.pointee.state.load(ordering: .acquiring) == .active, registry.entries[index].judge.isStalled else {
                continue
            }
            arm(index)
            if clb_beacon_word(line.pointee.beacon) != line.pointee.lastWord { unmoved = false }
        }
        return unmoved
    }

    /// Arms every beacon, so that the first loop to wake posts. False when one did before it was armed.
    private func park() -> Bool {
        for index in 0..<registry.count {
            let line = registry.lines + index
            guard line.pointee.state.load(ordering: .acquiring) == .active else { continue }
            arm(line.pointee.beacon, UInt32(CLB_ARMED_ANY))
            if clb_beacon_word(line.pointee.beacon) != line.pointee.lastWord { return false }
        }
        return true
    }
}
