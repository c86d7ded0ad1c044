internal import CLagBeacon
internal import LagActivity
internal import LagCapture
internal import LagModel

/// Another process's thread that is stopped (SIGSTOP), or held by a debugger. In this process, the watchdog would notice that by
/// its own lateness.
extension Watch {
    /// The results of polling the thread's state.
    struct Hold {
        /// A time in which every poll has found it held.
        struct Row {
            /// The last poll that found it free, or the beginning of its callout.
            let from: UInt64
            var last: UInt64
            /// Time between polls in which it has not run.
            var heldNanoseconds: UInt64 = 0
            /// How often it had given up a processor by the last poll.
            var switches: UInt64
            /// When it began, or when the stall was last reported within it.
            let sinceReported: UInt64

            /// The pause so far.
            func pause(until now: UInt64) -> ProcessPause {
                ProcessPause(from: from, to: now, atLeast: heldNanoseconds, atMost: now.saturatingDifference(from))
            }
        }

        /// The last poll that did not find it held; 0: none.
        var free: UInt64 = 0
        var row: Row?
        /// When a stalled loop is polled next.
        var next: UInt64 = 0

        static let shortestNanoseconds: UInt64 = 5_000_000
        static let longestNanoseconds: UInt64 = 200_000_000
        /// If a stall is held for longer than this, its duration so far is reported.
        static let reportedNanoseconds: UInt64 = 5_000_000_000
        /// The gap between polls, as a share of how long this has lasted: it is the precision of a stop's beginning and end.
        static let gapShare: UInt64 = 32

        static func gap(after nanoseconds: UInt64) -> UInt64 {
            min(max(nanoseconds / gapShare, shortestNanoseconds), longestNanoseconds)
        }
    }

    /// Polls whether a thread is held, for a loop that stalls or may stall. 10 µs.
    /// - Returns: whether it is, and then nothing counts; and the pause that is over, if any.
    func pollHold(_ reading: BeaconReading, _ scan: inout ScanState) -> (isHeld: Bool, pause: ProcessPause?) {
        guard isHoldPolled(at: scan.now) else { return (false, nil) }
        let now = services.clock()
        guard let switches = services.switchesWhileHeld(cold.pointee.target.tid) else {
            let pause = takeHold(at: now)
            let age = now.saturatingDifference(cold.pointee.recording?.sinceNanoseconds ?? now)
            cold.pointee.hold = Hold(free: now, next: now.saturatingSum(Hold.gap(after: age)))
            if pause != nil { scan.advanceClock(to: now) }
            return (false, pause)
        }
        // It ran when it reached the callout.
        let published = reading.calloutNanoseconds <= now ? reading.calloutNanoseconds : 0
        let from = max(cold.pointee.hold.free, published)
        let begun = Hold.Row(from: from > 0 ? from : now, last: now, switches: switches, sinceReported: now)
        var row = cold.pointee.hold.row ?? begun
        if row.switches == switches { row.heldNanoseconds += now.saturatingDifference(row.last) }
        (row.switches, row.last) = (switches, now)
        cold.pointee.hold.row = row
        if cold.pointee.detector.isStalled, now.saturatingDifference(row.sinceReported) > Hold.reportedNanoseconds {
            endActiveStall(ignoreBefore: now, nil)
            cold.pointee.hold.row = Hold.Row(from: now, last: now, switches: switches, sinceReported: now)
        }
        // The next observation must see the pause.
        hot.pointee.canFastPoll = false
        return (true, nil)
    }

    private func isHoldPolled(at now: UInt64) -> Bool {
        guard services.isRemote, cold.pointee.target.tid != 0 else { return false }
        if cold.pointee.hold.row != nil || cold.pointee.detector.isSuspicious { return true }
        return cold.pointee.detector.isStalled && cold.pointee.hold.next <= now
    }

    /// When the thread of a stalled loop is polled next.
    var nextHoldPoll: UInt64 {
        services.isRemote && cold.pointee.target.tid != 0 && cold.pointee.detector.isStalled ? cold.pointee.hold.next : .max
    }

    /// A held thread is polled until it continues; nothing else is done.
    func scheduleHoldPoll(_ scan: inout ScanState) {
        reportIfRequested(at: cold.pointee.hold.row?.from ?? scan.now)
        let held = cold.pointee.hold.row?.heldNanoseconds ?? 0
        hot.pointee.deadlineNanoseconds = services.clock().saturatingSum(Hold.gap(after: held))
        scan.nextNanoseconds = min(scan.nextNanoseconds, hot.pointee.deadlineNanoseconds)
        scan.isBusy = true
        if cold.pointee.detector.isStalled { scan.isStalled = true }
    }

    /// The pause so far, if the thread is held.
    func takeHold(at now: UInt64) -> ProcessPause? {
        guard let row = cold.pointee.hold.row else { return nil }
        cold.pointee.hold = Hold(free: cold.pointee.hold.free)
        return row.pause(until: now)
    }
}
