internal import CLibunwind
internal import LagActivity
internal import Synchronization

/// One look at all loops.
extension Watchdog {
    /// What the loop over the entries gathers.
    private struct Look {
        private(set) var now: UInt64
        let lost: UInt64
        var next: UInt64 = .max
        /// The next tick of a loop that waits: looked at as well while others work, because it is not armed then.
        var idleNext: UInt64 = .max
        var busy = false
        var stalled = false
        var retired = false
        private var tickInterval: UInt64 = 0
        private var tick: UInt64 = 0

        init(now: UInt64, lost: UInt64) {
            self.now = now
            self.lost = lost
        }

        /// A capture takes its time: what is seen after it is seen then.
        mutating func goOn(at time: UInt64) {
            now = max(now, time)
            tickInterval = 0
        }

        /// The next tick after `now`. Loops mostly have one interval: the division is made once, not for each.
        mutating func nextTick(ofInterval interval: UInt64) -> UInt64 {
            if interval != tickInterval {
                tickInterval = interval
                tick = DetectionRule.nextTick(after: now, intervalNanoseconds: interval)
            }
            return tick
        }
    }

    /// What is to be done after a look.
    struct Plan: Equatable {
        /// When to look again; `.max`: when a loop wakes.
        var deadline: UInt64
        /// Whether a stall is being timed, so that a post means news.
        var stalled: Bool
    }

    /// Looks at every loop.
    /// - Parameter lost: the length of the wait that just ended, if it ended too late; else 0.
    func scan(at now: UInt64, lost: UInt64 = 0) -> Plan {
        var look = Look(now: now, lost: lost)
        let count = registry.count
        for index in 0..<count {
            if index + Self.fetchedAhead < count { clu_beacon_prefetch(registry.lines[index + Self.fetchedAhead].beacon) }
            visit(index, &look)
        }
        if look.busy { look.next = min(look.next, look.idleNext) }
        if look.retired {
            notify()
            if look.stalled, !rearm() { look.next = min(look.next, now.saturatingSum(Self.shortWaitNanoseconds)) }
        }
        if !look.busy, !park() { look.next = now.saturatingSum(Self.shortWaitNanoseconds) }
        return Plan(deadline: look.next, stalled: look.stalled)
    }

    /// The beacons lie anywhere, and mostly in another processor's cache: so many loops ahead they are asked for.
    private static let fetchedAhead = 12

    /// After an arming that came too late because a loop moved meanwhile: look again at once, but not in a tight loop.
    static let shortWaitNanoseconds: UInt64 = 1_000_000

    private func visit(_ index: Int, _ look: inout Look) {
        let line = registry.lines + index
        let entry = registry.entries + index
        switch line.pointee.state.load(ordering: .acquiring) {
        case .free, .retired: return
        case .ending:
            finish(index)
            look.retired = true
            return
        case .active: break
        }
        if moveOn(line, &look) { return }
        var reading = BeaconReading(line.pointee.beacon)
        let changed = reading.word != line.pointee.lastWord
        let wasStalled = entry.pointee.detector.isStalled
        // The end of a stall may be younger than the beginning of this round of looks.
        inspect(index, reading, at: changed && wasStalled ? clock() : look.now, lost: look.lost)
        if !wasStalled, entry.pointee.detector.isStalled { look.goOn(at: clock()) }
        if entry.pointee.detector.isStalled {
            // Arm, then look again: a stall that ended in between is not told by the beacon.
            clu_beacon_arm(line.pointee.beacon, Self.semaphore.raw, UInt32(CLU_ARMED_ANY))
            reading = BeaconReading(line.pointee.beacon)
            if reading.word != line.pointee.lastWord { inspect(index, reading, at: clock(), lost: 0) }
        }
        guard reading.activity != .finished else {
            finish(index)
            look.retired = true
            return
        }
        line.pointee.deadline = entry.pointee.detector.nextLook ?? .max
        if entry.pointee.detector.isStalled { look.stalled = true }
        if changed || reading.isWorking {
            look.busy = true
            look.next = min(look.next, line.pointee.nextTick, line.pointee.deadline)
        } else {
            look.idleNext = min(look.idleNext, look.nextTick(ofInterval: line.pointee.intervalNanoseconds))
        }
    }

    /// The usual case of a busy loop, and short because there may be thousands: it is at work at another word than before.
    private func moveOn(_ line: UnsafeMutablePointer<WatchLine>, _ look: inout Look) -> Bool {
        let word = clu_beacon_word(line.pointee.beacon)
        guard word != line.pointee.lastWord, line.pointee.isPlain, look.lost == 0,
            LoopActivity.isWorking(UInt8(truncatingIfNeeded: word))
        else { return false }
        line.pointee.lastWord = word
        line.pointee.seen = look.now
        line.pointee.isFresh = true
        line.pointee.nextTick = look.nextTick(ofInterval: line.pointee.intervalNanoseconds)
        line.pointee.deadline = .max
        look.busy = true
        look.next = min(look.next, line.pointee.nextTick)
        return true
    }

    /// Lets the detector see a reading, if it changed or if a time has come.
    func inspect(_ index: Int, _ reading: BeaconReading, at now: UInt64, lost: UInt64) {
        let line = registry.lines + index
        let entry = registry.entries + index
        let changed = reading.word != line.pointee.lastWord
        if line.pointee.isFresh {
            // What was noted in passing, with the beginning that the beacon tells: the word's, if it still stands there.
            let noted = BeaconReading(word: line.pointee.lastWord, calloutNanoseconds: reading.calloutNanoseconds)
            entry.pointee.detector.moveOn(to: noted, at: max(line.pointee.seen, min(noted.calloutNanoseconds, now)))
            line.pointee.isFresh = false
        }
        line.pointee.lastWord = reading.word
        let due = min(line.pointee.nextTick, line.pointee.deadline) <= now
        guard changed || due || lost > 0 else { return }
        let counts = due && !changed && lost == 0
        let verdict = entry.pointee.detector.look(reading, at: now, counts: counts, lost: lost)
        line.pointee.isPlain = entry.pointee.detector.mayBePassedBy
        if changed || line.pointee.nextTick <= now { line.pointee.nextTick = entry.pointee.detector.rule.nextTick(after: now) }
        act(on: verdict, index, reading, now)
    }

    /// Arms the stalled loops again, of which an ended watch may have disarmed one. False when one has moved meanwhile.
    private func rearm() -> Bool {
        var unmoved = true
        for index in 0..<registry.count {
            let line = registry.lines + index
            let entry = registry.entries + index
            guard line.pointee.state.load(ordering: .acquiring) == .active, entry.pointee.detector.isStalled else { continue }
            clu_beacon_arm(line.pointee.beacon, Self.semaphore.raw, UInt32(CLU_ARMED_ANY))
            if clu_beacon_word(line.pointee.beacon) != line.pointee.lastWord { unmoved = false }
        }
        return unmoved
    }

    /// Arms every beacon, so that the first loop to wake posts. False when one did before it was armed.
    private func park() -> Bool {
        for index in 0..<registry.count {
            let line = registry.lines + index
            guard line.pointee.state.load(ordering: .acquiring) == .active else { continue }
            clu_beacon_arm(line.pointee.beacon, Self.semaphore.raw, UInt32(CLU_ARMED_ANY))
            if clu_beacon_word(line.pointee.beacon) != line.pointee.lastWord { return false }
        }
        return true
    }
}
