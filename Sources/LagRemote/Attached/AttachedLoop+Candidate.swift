internal import CLagBeacon
internal import CLagRemote
internal import LagActivity

extension AttachedLoop: CandidateLoop {
    package var isConfirmed: Bool { candidacy.isConfirmed }
    package var mayCauseAction: Bool { isConfirmed && confirmation.isConfirmed }

    /// A thread that rests in `accept` runs no loop: its work since its last wait may have been a job's.
    package func isDoubtful(at time: UInt64) -> Bool { candidacy.restsAt != nil && time >= clb_beacon_callout_ns(beacon.raw) }

    /// Whether the thread has left what looked like its loop. (A loop that makes an instance for each wait has none while a handler
    /// runs, so it cannot be distinguished from a job with an instance of its own.)
    func hasLeft(_ sample: clr_thread_sample, at now: UInt64) -> Bool {
        guard !examiner.isDeclared else { return false }
        return candidacy.leaves(
            at: ThreadObservation.listener(of: sample),
            runs: sample.runs,
            at: now,
            isProved: confirmation.isConfirmed && !examiner.isObjectClosed,
            isAccepting: examiner.isAccepting(in: sample.call)
        )
    }
}
