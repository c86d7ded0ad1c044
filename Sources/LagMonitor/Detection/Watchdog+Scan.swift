internal import CLibunwind
internal import LagActivity
internal import Synchronization

/// One look at all loops.
extension Watchdog {
    /// What the loop over the entries gathers.
    private struct Look {
        var next: UInt64 = .max
        var busy = false
        var stalled = false
        var retired = false
        var late = false
    }

    /// Looks at every loop and says when to look again (`.max`: when one wakes) and whether a stall is being timed.
    func scan(at now: UInt64, _ lateness: inout LatenessGuard) -> (deadline: UInt64, stalled: Bool) {
        var look = Look()
        for index in 0..<registry.count { visit(index, now, &lateness, &look) }
        if look.retired { notify() }
        if !look.busy, !park() { look.next = now &+ Self.shortWaitNanoseconds }
        return (look.next, look.stalled)
    }

    /// After a park that failed because a loop woke meanwhile: look again at once, but not in a tight loop.
    private static let shortWaitNanoseconds: UInt64 = 1_000_000

    private func visit(_ index: Int, _ now: UInt64, _ lateness: inout LatenessGuard, _ look: inout Look) {
        let entry = registry.entries + index
        switch entry.pointee.state.load(ordering: .acquiring) {
        case .free, .retired: return
        case .ending:
            finish(index)
            look.retired = true
            return
        case .active: break
        }
        var reading = BeaconReading(entry.pointee.beacon)
        let changed = reading.word != entry.pointee.lastWord
        inspect(index, reading, now, &lateness, &look)
        if entry.pointee.detector.isStalled {
            // Arm, then look again: a stall that ended in between is not told by the beacon.
            clu_beacon_arm(entry.pointee.beacon, Self.semaphore.raw)
            reading = BeaconReading(entry.pointee.beacon)
            if reading.word != entry.pointee.lastWord { inspect(index, reading, clu_now_ns(), &lateness, &look) }
        }
        guard reading.activity != .finished else {
            finish(index)
            look.retired = true
            return
        }
        if entry.pointee.detector.isStalled { look.stalled = true }
        if changed || reading.activity.isWorking {
            look.busy = true
            look.next = min(look.next, entry.pointee.nextTick)
            if let deadline = entry.pointee.detector.deadline { look.next = min(look.next, deadline) }
        }
    }

    /// Lets the detector see a reading, if it changed or if a time has come.
    private func inspect(
        _ index: Int,
        _ reading: BeaconReading,
        _ now: UInt64,
        _ lateness: inout LatenessGuard,
        _ look: inout Look
    ) {
        let entry = registry.entries + index
        let changed = reading.word != entry.pointee.lastWord
        entry.pointee.lastWord = reading.word
        // Of the times that have come, the younger: it is the one this look was made for.
        var due: UInt64 = 0
        if entry.pointee.nextTick <= now { due = entry.pointee.nextTick }
        if let deadline = entry.pointee.detector.deadline, deadline <= now { due = max(due, deadline) }
        guard changed || due > 0 else { return }
        var counts = false
        if due > 0, !changed, reading.activity.isWorking {
            counts =
                look.late
                ? LatenessGuard.isWithin(Self.toleranceNanoseconds, due, now) : lateness.isOnTime(expected: due, now: now)
            if !counts { look.late = true }
        }
        let verdict = entry.pointee.detector.look(reading, at: now, counts: counts)
        if changed || entry.pointee.nextTick <= now { entry.pointee.nextTick = entry.pointee.detector.rule.nextTick(after: now) }
        act(on: verdict, index, reading, now)
    }

    /// Arms every beacon, so that the first loop to wake posts. False when one did before it was armed.
    private func park() -> Bool {
        for index in 0..<registry.count {
            let entry = registry.entries + index
            guard entry.pointee.state.load(ordering: .acquiring) == .active else { continue }
            clu_beacon_arm(entry.pointee.beacon, Self.semaphore.raw)
            if clu_beacon_word(entry.pointee.beacon) != entry.pointee.lastWord { return false }
        }
        return true
    }
}
