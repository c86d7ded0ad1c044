internal import CLagBeacon
internal import LagActivity

/// Another process's thread that is stopped (SIGSTOP), or held by a debugger. Here the process would notice that itself, by its own lateness.
extension Watch {
    /// What looks at the thread have found.
    struct Hold {
        /// The last one that did not find it held; 0: there was none.
        var free: UInt64 = 0
        /// A row of looks that found it held: not before `from`, and at the times of the first and the last of them.
        var row: (from: UInt64, first: UInt64, last: UInt64)?
        /// When to look again at a loop that stalls.
        var next: UInt64 = 0

        /// Who goes on is seen to go on so much later.
        static let pollNanoseconds: UInt64 = 5_000_000
        /// A stall that is held for longer is reported so far.
        static let longestNanoseconds: UInt64 = 5_000_000_000
        static let longestGapNanoseconds: UInt64 = 200_000_000
        /// Of a stall's age, how long it goes without a look.
        static let ageShare: UInt64 = 32
    }

    /// Looks whether a thread is held that is at one callout for suspiciously long. Some 20 µs.
    /// - Returns: whether it is, and then nothing counts; and the pause that is over, if one is.
    func look(_ reading: BeaconReading, _ scan: inout ScanState) -> (isHeld: Bool, pause: ProcessPause?) {
        guard services.isRemote, cold.pointee.target.tid != 0,
            cold.pointee.hold.row != nil || cold.pointee.detector.isSuspicious
        else { return (false, nil) }
        let now = services.clock()
        guard services.isHeld(cold.pointee.target.tid) else {
            defer { cold.pointee.hold = Hold(free: now, next: now.saturatingSum(gapToNextLook(at: now))) }
            guard let row = cold.pointee.hold.row else { return (false, nil) }
            scan.advanceClock(to: now)
            return (false, ProcessPause(from: row.from, to: now, atLeast: row.last - row.first, atMost: now - row.from))
        }
        // It ran when it came to the callout.
        let published = reading.calloutNanoseconds <= now ? reading.calloutNanoseconds : 0
        let from = max(cold.pointee.hold.free, published)
        var row = cold.pointee.hold.row ?? (from: from > 0 ? from : now, first: now, last: now)
        row.last = now
        if cold.pointee.detector.isStalled, now - row.first > Hold.longestNanoseconds {
            let pause = ProcessPause(from: row.from, to: now, atLeast: now - row.first, atMost: now - row.from)
            endActiveStall(ignoreBefore: now, pause)
            row = (from: now, first: now, last: now)
        }
        cold.pointee.hold.row = row
        // However it goes on, the pause is to be seen.
        hot.pointee.canFastPoll = false
        return (true, nil)
    }

    /// A stall's: so exactly is known when a stop began that comes later.
    private func gapToNextLook(at now: UInt64) -> UInt64 {
        let age = now.saturatingDifference(cold.pointee.recording?.sinceNanoseconds ?? now)
        return min(max(age / Hold.ageShare, Hold.pollNanoseconds), Hold.longestGapNanoseconds)
    }

    /// When a loop is to be looked at that is not held.
    var nextLook: UInt64 { services.isRemote && cold.pointee.detector.isStalled ? cold.pointee.hold.next : .max }

    /// One that is held is looked at until it goes on, and nothing else.
    func scheduleLook(_ scan: inout ScanState) {
        hot.pointee.deadline = scan.now.saturatingSum(Hold.pollNanoseconds)
        scan.next = min(scan.next, hot.pointee.deadline)
        scan.isBusy = true
        if cold.pointee.detector.isStalled { scan.isStalled = true }
    }
}
