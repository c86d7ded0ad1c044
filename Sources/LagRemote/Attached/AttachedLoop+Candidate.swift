internal import CLagRemote
internal import LagActivity

extension AttachedLoop: CandidateLoop {
    package var isConfirmed: Bool { candidacy.isConfirmed }
    package var mayCauseAction: Bool { isConfirmed && confirmation.isConfirmed }

    /// A thread that rests in `accept` runs no loop: its work before may have been a job's.
    package func isDoubtful(at time: UInt64) -> Bool { candidacy.restsAt != nil }

    /// Whether the thread has left what looked like its loop.
    func hasLeft(_ sample: clr_thread_sample) -> Bool {
        guard !examiner.isDeclared, let listener = ThreadObservation.listener(of: sample) else { return false }
        return candidacy.leaves(at: listener, isProved: confirmation.isConfirmed && !examiner.isObjectGone) {
            examiner.isAccepting(in: sample.call)
        }
    }
}
