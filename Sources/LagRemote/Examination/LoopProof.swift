internal import CLagBeacon
package import LagActivity
internal import LagMonitor

/// What is proved about a loop at one moment: the minimum evidence for an action on its process.
package struct LoopProof: Sendable, Equatable {
    /// Whether its thread, and no other, waits for events on an object that event loops wait on.
    package var isLoop: Bool
    /// Whether events are ready there that it does not fetch; nil: not known now, because others may fetch them, of which some
    /// could not be examined yet.
    package var isWorkPending: Bool?
    /// Whether the kernel proves both, for a sleeping thread. If its process has other threads, the shared table may omit that
    /// they fetch.
    package var isWitnessed: Bool
    /// How often its thread has slept, if the proof holds only until it sleeps again; nil: it holds as long as the work.
    package var sleeps: UInt64?

    package init(isLoop: Bool, isWorkPending: Bool?, isWitnessed: Bool = false, sleeps: UInt64? = nil) {
        self.isLoop = isLoop
        self.isWorkPending = isWorkPending
        self.isWitnessed = isWitnessed
        self.sleeps = sleeps
    }
}

/// A loop of another process.
package protocol ForeignLoop: ExaminableLoop {
    /// Takes some 10 µs, half a millisecond while another thread examines it. Any thread.
    /// - Returns: nil: not known now, because another thread's examination has not ended, or it has not been sampled meanwhile.
    func proof(at now: UInt64) -> LoopProof?

    /// Whether it is known to be a loop; before, no action may be taken because of it. Any thread.
    var mayCauseAction: Bool { get }

    /// The beacon's word of work that keeps nothing waiting, as of the last examination; `.max`: none. Any thread.
    var quietWord: UInt64 { get }

    /// Whether its thread was only seen to wait for no descriptor at all: it sleeps, and is not counted as a loop
    /// (``QuietRule``). False for a thread that is declared to be a loop. Any thread.
    var waitsForTimeAlone: Bool { get }
}

extension ForeignLoop {
    /// How long new work may have to wait for the loop's current work; 0 also while its thread is elsewhere and nothing waits.
    package var busyNanoseconds: UInt64 { clb_beacon_word(beacon.raw) == quietWord ? 0 : lagNanoseconds }
}
