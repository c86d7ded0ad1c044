package import LagCapture

/// A thread of a pool, and what it did when it was last looked at.
package struct TalliedWorker {
    package let tid: Int32
    /// Which of the tally's stacks; negative: one that had to make room.
    package var stack: Int32
}

/// Stalls of a pool: every round looks at all of its threads, and each look stands for the time since the round before.
extension StackTally {
    package func worker(_ number: Int) -> TalliedWorker {
        precondition(number >= 0 && number < workerCount, "worker \(number) of \(workerCount)")
        return workers[number]
    }

    /// One thread's stack in the round that is at `now`. Allocates nothing.
    /// - Returns: where it is kept, whether it is what the thread did before, and whether it is there for the first time.
    package func add(
        worker tid: Int32,
        _ outcome: CaptureOutcome,
        _ stack: FrameBuffer,
        key: UInt64,
        at now: UInt64
    ) -> (index: Int, isSame: Bool, isNew: Bool) {
        looks += 1
        let kept = keep(outcome, stack, key: key, standingFor: now.saturatingDifference(latestNanoseconds))
        var number = 0
        while number < workerCount, workers[number].tid != tid { number += 1 }
        if number == workerCount {
            guard workerCount < Self.workerCapacity else { return (kept.index, false, kept.isNew) }
            (workers + number).initialize(to: TalliedWorker(tid: tid, stack: -1))
            workerCount += 1
        }
        let isSame = workers[number].stack == Int32(kept.index)
        workers[number].stack = Int32(kept.index)
        return (kept.index, isSame, kept.isNew)
    }

    /// All threads were looked at.
    package func endRound(at now: UInt64) { latestNanoseconds = max(latestNanoseconds, now) }

    /// What came after the last round is what each thread did then.
    func closeWorkers(at until: UInt64) {
        var number = 0
        while number < workerCount {
            let stack = Int(workers[number].stack)
            if stack >= 0 { stacks[stack].weightNanoseconds += until - latestNanoseconds }
            number += 1
        }
    }

    /// A stack makes room for another.
    func forgetWorkers(at index: Int) {
        var number = 0
        while number < workerCount {
            if workers[number].stack == Int32(index) { workers[number].stack = -1 }
            number += 1
        }
    }
}
