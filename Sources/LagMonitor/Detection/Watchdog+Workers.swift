internal import LagActivity
internal import LagCapture

/// Looks at all threads of a pool that answers no more: nothing gets on because of what all of them do.
extension Watchdog {
    /// A round takes so long at most, but for the last thread: other loops wait for their looks.
    private static let roundNanoseconds: UInt64 = 20_000_000

    /// - Returns: whether every thread was found doing what it did in the round before.
    func sampleWorkers(
        of threadPool: any ThreadPoolLoop,
        _ index: Int,
        _ kind: StallKind,
        _ reading: BeaconReading,
        in episode: Episode
    ) -> Bool {
        let tally = episode.tally
        let now = clock()
        let count = min(threadPool.findWorkers(candidates), candidates.count)
        var failure = CaptureFailure.threadUnknown
        var isSame = true
        var found = 0
        var number = 0
        while number < count {
            // Another one first each time, so that where time runs short none is left out for good.
            let tid = candidates[(number + roundStart) % count]
            number += 1
            guard number == 1 || clock() &- now < Self.roundNanoseconds else {
                tally.keep(worker: tid)
                continue
            }
            let target = capture.identity(of: tid)
            // Nobody has asked for this thread to be watched: by a signal only where that is certain to fit on its stack.
            let outcome = capture.capture(
                target,
                earlier: nil,
                into: scratch,
                bySignal: target.stackLow != 0,
                budget: tally.sampleCount == 0 && number == 1 ? .full : .brief
            )
            guard isStillStalled(index, kind, as: reading) else {
                tally.recordFailure(.failed(.loopMovedOn))
                return isSame
            }
            guard outcome.method != .none else {
                failure = outcome.failure ?? failure
                tally.keep(worker: tid)
                continue
            }
            guard isAtWork(outcome, threadPool.workFunction) else { continue }
            let place = tally.add(worker: tid, outcome, scratch, key: key(of: outcome), at: now)
            found += 1
            isSame = isSame && place.isSame
            guard case .waiting(let call) = outcome.state else { continue }
            describe(call, of: target, in: episode, place.index, isNew: place.isNew)
            if !isStillStalled(index, kind, as: reading) { tally.forgetOwners(place.index) }
        }
        roundStart &+= 1
        guard found > 0 else {
            tally.recordFailure(.failed(failure))
            return true
        }
        tally.endRound(at: now)
        return isSame
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
