internal import CLagBeacon
package import LagActivity
internal import LagMonitor

/// What is proved of a loop at one moment: on nothing less anything is done to its process.
package struct LoopProof: Sendable, Equatable {
    /// Its thread waits for events on an object that event loops wait on, and no other thread does.
    package var isLoop: Bool
    /// Events are ready there that it does not fetch.
    package var isWorkPending: Bool
    /// Both by what the kernel shows, of a thread that sleeps. Where its process has other threads, the shared table may leave out that they fetch.
    package var isWitnessed: Bool

    package init(isLoop: Bool, isWorkPending: Bool, isWitnessed: Bool = false) {
        self.isLoop = isLoop
        self.isWorkPending = isWorkPending
        self.isWitnessed = isWitnessed
    }
}

/// A loop of another process.
package protocol ForeignLoop: ExaminableLoop {
    /// Some 10 µs. Any thread.
    func proof(at now: UInt64) -> LoopProof

    /// The beacon's word of a stretch of work that the last examination has found to keep nothing waiting; `.max`: of none. Any thread.
    var quietWord: UInt64 { get }
}

extension ForeignLoop {
    /// For how long work that comes may have to wait for what the loop does now; 0 also while its thread is at something else, and nothing waits.
    package var busyNanoseconds: UInt64 { clb_beacon_word(beacon.raw) == quietWord ? 0 : lagNanoseconds }
}
