internal import LagActivity
internal import LagCapture

/// Samples all threads of a pool that answers no more: nothing gets on because of what all of them do.
extension Watch {
    /// A round takes so long at most, but for the last thread: other loops wait for their observation.
    private static let roundNanoseconds: UInt64 = 20_000_000

    /// - Returns: whether every thread was found doing what it did in the round before.
    func sampleWorkers(
        of threadPool: any ThreadPoolLoop,
        _ kind: StallKind,
        _ reading: BeaconReading,
        in episode: Episode
    ) -> Bool {
        let tally = episode.tally
        let now = services.clock()
        let count = min(threadPool.findWorkers(services.candidates), services.candidates.count)
        var failure = CaptureFailure.threadUnknown
        var isSame = true
        var found = 0
        let isFirst = episode.running.beginOpen(at: now)
        var number = 0
        while number < count {
            // Another one first each time, so that where time runs short no thread is left out for good.
            let tid = services.candidates[(number + services.roundStart) % count]
            number += 1
            guard number == 1 || services.clock() &- now < Self.roundNanoseconds else {
                tally.keep(worker: tid)
                continue
            }
            let target = services.capture.identity(of: tid)
            var outcome = services.capture.capture(
                target,
                earlier: nil,
                into: services.scratch,
                budget: tally.sampleCount == 0 && number == 1 ? .full : .brief
            )
            guard isStillStalled(kind, as: reading) else {
                tally.recordFailure(.failed(.loopMovedOn))
                return isSame
            }
            guard outcome.method != .none else {
                failure = outcome.failure ?? failure
                tally.keep(worker: tid)
                continue
            }
            guard isAtWork(outcome, threadPool.workFunction) else { continue }
            recordRunning(of: tid, &outcome, in: episode, isFirst: isFirst)
            let place = tally.add(worker: tid, outcome, services.scratch, key: services.key(of: outcome), at: now)
            found += 1
            isSame = isSame && place.isSame
            guard case .waiting(let call) = outcome.state else { continue }
            services.describe(call, of: target, in: episode, place.index, isNew: place.isNew) {
                isStillStalled(kind, as: reading)
            }
        }
        services.roundStart &+= 1
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
            if services.capture.function(of: services.scratch[position]) == function { return true }
            position -= 1
        }
        return false
    }
}
