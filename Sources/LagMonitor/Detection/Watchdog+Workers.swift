internal import CLibunwind
internal import LagActivity
internal import LagCapture

/// Looks at all threads of a pool that answers no more: nothing gets on because of what all of them do.
extension Watchdog {
    /// A round takes so long at most, but for the last thread: other loops wait for their looks.
    private static let roundNanoseconds: UInt64 = 20_000_000

    /// - Returns: whether every thread was found doing what it did in the round before.
    func lookAtWorkers(
        of crowd: any CrowdedLoop,
        _ index: Int,
        _ kind: StallKind,
        _ reading: BeaconReading,
        in episode: Episode
    ) -> Bool {
        takeLateAnswer()
        let now = clock()
        // On a busy machine an answer takes its time.
        let patience = episode.tally.looks == 0 ? CapturePatience.full : .brief
        let count = min(crowd.findWorkers(candidates), candidates.count)
        var failure = CaptureFailure.threadUnknown
        var isSame = true
        var found = 0
        var number = 0
        while number < count, clock() &- now < Self.roundNanoseconds {
            let target = capture.identity(of: candidates[number])
            number += 1
            // Nobody has asked for this thread to be watched: by a signal only where that is certain to fit on its stack.
            let isBounded = target.stackLow != 0
            let outcome = capture.capture(
                target,
                earlier: nil,
                into: scratch,
                bySignal: isBounded,
                leavesRequest: true,
                patience: patience
            )
            guard stillStands(index, kind, as: reading) else {
                failure = .loopMovedOn
                break
            }
            guard outcome.method != .none else {
                failure = outcome.failure ?? failure
                episode.tally.keep(worker: target.tid)
                continue
            }
            guard isAtWork(outcome, crowd.workFunction) else { continue }
            let place = episode.tally.add(worker: target.tid, outcome, scratch, key: key(of: outcome), at: now)
            found += 1
            isSame = isSame && place.isSame
            guard case .waiting(let call) = outcome.state else { continue }
            describe(call, of: target, in: episode, place.index, isNew: place.isNew)
            if !stillStands(index, kind, as: reading) { episode.tally.forgetOwners(place.index) }
        }
        guard found > 0 else {
            episode.tally.note(.failed(failure))
            return true
        }
        episode.tally.endRound(at: now)
        return isSame
    }

    /// The answer of a thread of a pool that had no processor to give it in its round.
    func noteLate(_ outcome: CaptureOutcome, of tid: Int32, asked: UInt64, _ crowd: any CrowdedLoop, in episode: Episode) {
        guard isAtWork(outcome, crowd.workFunction) else { return }
        _ = episode.tally.add(worker: tid, outcome, scratch, key: key(of: outcome), at: asked)
    }

    private func isAtWork(_ outcome: CaptureOutcome, _ function: UInt64) -> Bool {
        var position = outcome.stored - 1
        // From the root, where it is.
        while position >= 0 {
            if capture.function(of: scratch[position]) == function { return true }
            position -= 1
        }
        return false
    }
}
