internal import LagActivity
internal import LagCapture
internal import LagModel

/// Samples all threads of a pool that no longer answers: what all of them do keeps it from making progress.
extension Watch {
    /// The time limit of a round; the last thread may exceed it: other loops wait for their observation.
    private static let roundNanoseconds: UInt64 = 20_000_000

    /// - Returns: whether every thread was found doing the same as in the round before.
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
            // Starts with a different thread each time, so that no thread is always left out if time runs short.
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
        // From the root, if that is known.
        while position >= 0 {
            if services.capture.function(of: services.scratch[position]) == function { return true }
            position -= 1
        }
        return false
    }
}
