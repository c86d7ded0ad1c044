package import LagCapture
internal import LagModel

/// A thread of a pool, and what it did when it was last sampled.
package struct TalliedWorker {
    package let tid: Int32
    /// Its stack in the tally; negative: one that was evicted.
    package var stack: Int32
    /// Whether it was found in the present round.
    var isPresent: Bool
}

/// Stalls of a pool: every round samples all of its threads, and each sample represents the time since the round before.
extension StackTally {
    package func worker(_ number: Int) -> TalliedWorker {
        precondition(number >= 0 && number < workerCount, "worker \(number) of \(workerCount)")
        return workers[number]
    }

    /// One thread's stack in the round at `now`. Allocates nothing.
    /// - Returns: where it is kept, whether it is the same as before for this thread, and whether it is there for the first time.
    package func add(
        worker tid: Int32,
        _ outcome: CaptureOutcome,
        _ stack: FrameBuffer,
        key: UInt64,
        at now: UInt64
    ) -> (index: Int, isSame: Bool, isNew: Bool) {
        sampleCount += 1
        let kept = keep(outcome, stack, key: key, weight: now.saturatingDifference(latestNanoseconds))
        let number = position(of: tid)
        if number == workerCount {
            guard workerCount < Self.workerCapacity else { return (kept.index, false, kept.isNew) }
            (workers + number).initialize(to: TalliedWorker(tid: tid, stack: -1, isPresent: true))
            workerCount += 1
        }
        let isSame = workers[number].stack == Int32(kept.index)
        workers[number].stack = Int32(kept.index)
        workers[number].isPresent = true
        return (kept.index, isSame, kept.isNew)
    }

    /// A thread that could not be sampled in this round: it is assumed to do the same as before.
    package func keep(worker tid: Int32) {
        let number = position(of: tid)
        if number < workerCount { workers[number].isPresent = true }
    }

    /// All threads were sampled. Those that were not found are gone.
    package func endRound(at now: UInt64) {
        latestNanoseconds = max(latestNanoseconds, now)
        var kept = 0
        var number = 0
        while number < workerCount {
            if workers[number].isPresent {
                workers[kept] = workers[number]
                workers[kept].isPresent = false
                kept += 1
            }
            number += 1
        }
        workerCount = kept
    }

    private func position(of tid: Int32) -> Int {
        var number = 0
        while number < workerCount, workers[number].tid != tid { number += 1 }
        return number
    }

    /// In the time after the last round, each thread is assumed to do the same as then.
    func closeWorkers(at until: UInt64) {
        var number = 0
        while number < workerCount {
            let stack = Int(workers[number].stack)
            if stack >= 0 { stacks[stack].weightNanoseconds += until - latestNanoseconds }
            number += 1
        }
    }

    /// A stack is evicted for another.
    func forgetWorkers(at index: Int) {
        var number = 0
        while number < workerCount {
            if workers[number].stack == Int32(index) { workers[number].stack = -1 }
            number += 1
        }
    }
}
