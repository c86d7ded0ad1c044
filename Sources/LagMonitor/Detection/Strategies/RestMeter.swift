package import LagActivity

/// Since when a loop has not been idle, if its waits alone do not show this (``PublishedWaits``).
///
/// If a thread finds events ready, it returns from its wait at once. The kernel's count of the thread's voluntary context
/// switches (proc(5), `voluntary_ctxt_switches`) distinguishes that from idle time: while it does not grow, the thread has not
/// slept anywhere. A thread that sleeps within a callback (a lock, a file) counts as possibly idle. Pure: values in, values out.
package struct RestMeter: Sendable, Equatable {
    private var sleeps: UInt64?
    private var since: UInt64 = 0
    private var firstSequence: UInt64 = 0

    package init() {}

    /// - Parameters:
    ///   - reading: read before `sleeps`.
    ///   - sleeps: nil: not known.
    ///   - hasMoved: whether the beacon's word had changed after `sleeps` was read: then the sleep may be in progress.
    package mutating func observe(
        _ reading: BeaconReading,
        sleeps: UInt64?,
        hasMoved: Bool,
        waits: PublishedWaits,
        at now: UInt64
    ) -> BusyTime {
        defer { self.sleeps = sleeps }
        let isTurning = waits == .turns && reading.activity == .waiting && reading.word == reading.beaconWord
        guard let sleeps, reading.isWorking || isTurning else { return rest() }
        let hasSlept = sleeps != self.sleeps
        if since == 0 || hasSlept {
            guard reading.isWorking, !hasMoved else { return rest() }
            // A turn begins with the end of a wait: it has not been idle since. A stretch found by sampling may contain a sleep
            // that no sample saw.
            since = max(hasSlept && waits == .samples ? now : min(reading.calloutNanoseconds, now), 1)
            firstSequence = reading.word >> 8
        }
        let activities = (reading.word >> 8) &- firstSequence
        return BusyTime(since: since, turns: waits == .turns ? activities / Self.activitiesOfTurn + 1 : nil)
    }

    /// Whether the thread has not slept since it was last observed, so that what was found meanwhile belongs to the same time
    /// without idling.
    package func isAwake(sleeps: UInt64?) -> Bool { since > 0 && sleeps != nil && sleeps == self.sleeps }

    /// A thread that was awake was stopped once: if it slept once since then, that was the stop, and not idle time.
    package mutating func pass(overStopAt sleeps: UInt64?) { if sleeps == self.sleeps.map({ $0 &+ 1 }) { self.sleeps = sleeps } }

    private mutating func rest() -> BusyTime {
        since = 0
        return BusyTime(since: 0)
    }

    /// A turn's work, and the wait after it.
    private static let activitiesOfTurn: UInt64 = 2
}
