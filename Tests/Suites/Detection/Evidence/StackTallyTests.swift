internal import CLagLinux
internal import CLibunwind
import TestSupport
import Testing

@testable import LagCapture
@testable import LagDetection

struct StackTallyTests {
    private let tally = StackTally(maximumFrames: 4)!
    private let start: UInt64 = 1000 * millisecond

    private static func outcome(_ stored: Int = 1) -> CaptureOutcome {
        CaptureOutcome(method: .passive, failure: nil, stored: stored, total: stored)
    }

    private static func stack(_ counters: [UInt64]) -> FrameBuffer {
        let buffer = FrameBuffer(capacity: 64)
        for (index, counter) in counters.enumerated() {
            buffer.raw[index] = clu_frame()
            buffer.raw[index].pc = counter
        }
        return buffer
    }

    /// A sample of a stack of one frame, whose address is the key.
    @discardableResult
    private func observe(_ key: UInt64, _ milliseconds: UInt64, in tally: StackTally? = nil) -> (
        index: Int, isSame: Bool, isNew: Bool
    ) {
        (tally ?? self.tally).add(Self.outcome(), Self.stack([key]), key: key, at: start + milliseconds * millisecond)
    }

    /// Milliseconds by key.
    private func weights(_ tally: StackTally? = nil) -> [UInt64: Double] {
        let tally = tally ?? self.tally
        return Dictionary(
            uniqueKeysWithValues: (0..<tally.count).map {
                (tally[$0].key, Double(tally[$0].weightNanoseconds) / Double(millisecond))
            }
        )
    }

    @Test func `the first sample represents all time before it, and the last one all time after it`() {
        tally.begin(at: start)
        observe(7, 150)
        #expect(weights() == [7: 150])
        tally.close(at: start + 400 * millisecond)
        #expect(weights() == [7: 400])
        #expect(tally.sampleCount == 1 && tally[0].count == 1)
    }

    /// Of a function that contains inlined functions: the places of its samples, however much time the first sample represents.
    @Test func `the weight of a stack is divided among the places of its innermost function by samples`() {
        tally.begin(at: start)
        for (pc, milliseconds) in [(100, 300), (100, 310), (200, 320), (100, 330)] as [(UInt64, UInt64)] {
            _ = tally.add(Self.outcome(2), Self.stack([pc, 7]), key: 1, at: start + milliseconds * millisecond)
        }
        let copy = StackTally(maximumFrames: 4)!
        copy.copy(tally)
        for tally in [tally, copy] {
            let places = tally.stackAtLeaves(0)
            #expect(places.map(\.pc) == [100, 200] && places.map(\.stack.count) == [3, 1])
            #expect(places.map { Double($0.stack.weightNanoseconds) / Double(millisecond) } == [247.5, 82.5])
        }
        // More places than are stored.
        for pc in 0..<100 {
            _ = tally.add(Self.outcome(2), Self.stack([1000 + UInt64(pc), 7]), key: 2, at: start + 400 * millisecond)
        }
        let crowded = tally.stackAtLeaves(1)
        #expect(crowded.count == StackTally.leafCapacity && crowded.reduce(0) { $0 + $1.stack.count } == 100)
        #expect(crowded.reduce(0) { $0 + $1.stack.weightNanoseconds } == tally[1].weightNanoseconds)
        // Another stall.
        tally.begin(at: start)
        observe(7, 150)
        #expect(tally.stackAtLeaves(0).map(\.pc) == [7])
    }

    /// 150 ms before the first of five samples, 10 ms apart, of two stacks alternately; `states` of the first ones.
    @Test(arguments: [
        // 75 ms each of the time before, and 20 ms between the samples.
        ([KernelState.running, .running, .running, .running], 95.0, 95.0),
        // The second one slept: the time before remains the first one's.
        ([.running, .asleep, .running, .running], 170, 20),
        ([.asleep, .running, .running, .running], 170, 20),
        // Two of three samples are the first stack's.
        ([.running, .running, .running, .asleep], 120, 70),
    ])
    func `the first samples of a running thread share the time before them`(states: [KernelState], one: Double, other: Double) {
        tally.begin(at: start)
        for (number, state) in (states + [.running]).enumerated() {
            var outcome = Self.outcome()
            outcome.state = state
            let key: UInt64 = number % 2 == 0 ? 1 : 2
            _ = tally.add(outcome, Self.stack([key]), key: key, at: start + UInt64(150 + 10 * number) * millisecond)
        }
        #expect(weights() == [1: one, 2: other])
    }

    @Test func `the time between two samples of the same stack belongs to that stack`() {
        tally.begin(at: start)
        #expect(observe(7, 100) == (0, false, true))
        #expect(observe(7, 180) == (0, true, false))
        #expect(weights() == [7: 180])
        #expect(tally[0].count == 2)
    }

    @Test func `the time since the previous sample belongs to the new stack`() {
        tally.begin(at: start)
        observe(1, 100)
        #expect(observe(2, 160) == (1, false, true))
        #expect(weights() == [1: 100, 2: 60])
        // The first stack again: known, but not the same as the previous one.
        #expect(observe(1, 200) == (0, false, false))
        tally.close(at: start + 210 * millisecond)
        #expect(weights() == [1: 150, 2: 60])
        #expect(tally.sampleCount == 3 && tally[0].count == 2 && tally[1].count == 1)
    }

    /// A gap of 200 ms between two samples, and how long the thread slept in it.
    @Test(arguments: [
        (KernelState.asleep, KernelState.running, UInt64(120), 120.0, 80.0),
        (.running, .asleep, 120, 80, 120),
        (.running, .running, 120, 0, 200),
        (.asleep, .asleep, 120, 0, 200),
        (.unknown, .running, 120, 0, 200),
        (.asleep, .faulting, 120, 0, 200),
        (.asleep, .running, 900, 200, 0),
        (.running, .asleep, 900, 0, 200),
    ])
    func `sleep between two samples belongs to the stack that was asleep`(
        _ before: KernelState,
        _ after: KernelState,
        slept: UInt64,
        weightBefore: Double,
        weightAfter: Double
    ) {
        tally.begin(at: start)
        var outcome = Self.outcome()
        outcome.state = before
        _ = tally.add(outcome, Self.stack([1]), key: 1, at: start, slept: nil)
        outcome.state = after
        _ = tally.add(outcome, Self.stack([2]), key: 2, at: start + 200 * millisecond, slept: slept * millisecond)
        #expect(weights() == [1: weightBefore, 2: weightAfter])
    }

    @Test func `sleep between two samples of the same sleep is counted`() {
        tally.begin(at: start)
        var outcome = Self.outcome()
        for (key, state, milliseconds) in [
            (1, KernelState.asleep, 50), (1, .asleep, 100), (2, .running, 150), (2, .running, 200), (1, .asleep, 250),
            (1, .asleep, 300),
        ] as [(UInt64, KernelState, UInt64)] {
            outcome.state = state
            _ = tally.add(outcome, Self.stack([key]), key: key, at: start + milliseconds * millisecond)
        }
        #expect(tally.asleepNanoseconds == 100 * millisecond)
        tally.begin(at: start)
        #expect(tally.asleepNanoseconds == 0)
    }

    @Test func `an odd nanosecond is not lost`() {
        tally.begin(at: 0)
        _ = tally.add(Self.outcome(), Self.stack([1]), key: 1, at: 0)
        _ = tally.add(Self.outcome(), Self.stack([2]), key: 2, at: 7)
        #expect(tally[0].weightNanoseconds + tally[1].weightNanoseconds == 7)
    }

    @Test func `a failed sample counts, and its time belongs to the samples around it`() {
        tally.begin(at: start)
        observe(1, 100)
        tally.recordFailure(.failed(.loopMovedOn))
        observe(1, 300)
        #expect(tally.sampleCount == 3 && tally.count == 1 && tally[0].count == 2)
        #expect(weights() == [1: 300])
        #expect(tally.failure.failure == .loopMovedOn)
    }

    @Test func `closing without a stack has no effect`() {
        tally.begin(at: start)
        tally.recordFailure(.failed(.signalTimedOut))
        tally.close(at: start + 500 * millisecond)
        #expect(tally.count == 0 && tally.sampleCount == 1)
        #expect(tally.failure.failure == .signalTimedOut)
    }

    @Test func `a time that goes back reduces no weight`() {
        tally.begin(at: start)
        observe(1, 100)
        observe(2, 50)
        tally.close(at: start + 90 * millisecond)
        #expect(weights() == [1: 100, 2: 0])
        tally.close(at: start + 110 * millisecond)
        #expect(weights() == [1: 100, 2: 10])
    }

    @Test func `the lightest stack is replaced, but not the latest`() {
        tally.begin(at: start)
        // Weights decrease: 100 for the first, and less for each next one.
        var time: UInt64 = 100
        observe(1, time)
        for key in 2...UInt64(StackTally.capacity) {
            time += 40 - key * 2
            observe(key, time)
        }
        #expect(tally.count == StackTally.capacity)
        let before = weights()
        // The latest is the lightest: so the second lightest is replaced.
        let latest = UInt64(StackTally.capacity)
        #expect(before.min { $0.value < $1.value }?.key == latest)
        let other = observe(99, time + 2)
        #expect(other.isNew && !other.isSame && other.index == Int(latest) - 2)
        let after = weights()
        #expect(after[latest] == before[latest] && after[99] == 2)
        #expect(after[latest - 1] == nil)
        #expect(Double(tally.lostNanoseconds) / Double(millisecond) == before[latest - 1])
        // All time is still accounted for.
        tally.close(at: start + (time + 5) * millisecond)
        let sum = weights().values.reduce(0, +) + Double(tally.lostNanoseconds) / Double(millisecond)
        #expect(sum == Double(time + 5))
        // A stack that returns after its replacement is new.
        #expect(observe(latest - 1, time + 6).isNew)
    }

    @Test func `the latest stack is kept in the first place too`() {
        tally.begin(at: start)
        for key in 1...UInt64(StackTally.capacity) { observe(key, 0) }
        observe(1, 0)
        #expect(observe(50, 0).index == 1)
        #expect(tally[0].key == 1)
    }

    @Test func `random samples lose no time`() {
        for seed in 1...40 as ClosedRange<UInt64> {
            var random = SeededGenerator(seed: seed)
            tally.begin(at: start)
            var time: UInt64 = 0
            var last: UInt64 = 0
            for _ in 0..<200 {
                time += UInt64.random(in: 0...50, using: &random)
                let key = UInt64.random(in: 1...20, using: &random)
                let place = observe(key, time)
                #expect(tally[place.index].key == key)
                #expect(place.isSame == (key == last))
                #expect(tally.frame(0, of: place.index).pc == key)
                last = key
            }
            tally.close(at: start + (time + 3) * millisecond)
            let kept = (0..<tally.count).reduce(0) { $0 + tally[$1].weightNanoseconds }
            #expect(kept + tally.lostNanoseconds == (time + 3) * millisecond, "seed \(seed)")
            #expect(Set((0..<tally.count).map { tally[$0].key }).count == tally.count)
        }
    }

    @Test func `time in which the process could not run belongs to no stack`() {
        tally.begin(at: start)
        observe(1, 100)
        let stop = ProcessPause(
            from: start + 110 * millisecond,
            to: start + 1110 * millisecond,
            atLeast: 990 * millisecond,
            atMost: 1000 * millisecond
        )
        tally.skip(over: stop, until: start + 1120 * millisecond)
        observe(2, 1150)
        #expect(weights() == [1: 100, 2: 60])
    }

    @Test func `frames beyond the maximum are cut off`() {
        tally.begin(at: start)
        _ = tally.add(Self.outcome(6), Self.stack([10, 11, 12, 13, 14, 15]), key: 1, at: start)
        _ = tally.add(Self.outcome(2), Self.stack([20, 21]), key: 2, at: start)
        #expect(tally[0].outcome.stored == 4 && tally[0].outcome.total == 6)
        #expect((0..<4).map { tally.frame($0, of: 0).pc } == [10, 11, 12, 13])
        #expect((0..<2).map { tally.frame($0, of: 1).pc } == [20, 21])
    }

    private func owner(_ tid: Int32, frames: Int) -> TalliedOwner {
        TalliedOwner(tid: tid, lock: cll_lock(), outcome: Self.outcome(frames), name: cll_name())
    }

    private func lock(of tid: Int32) -> cll_lock {
        var lock = cll_lock()
        (lock.owner, lock.address, lock.kind) = (tid, 0x1000, Int32(CLL_LOCK_MUTEX))
        return lock
    }

    @Test func `each stack has its own lock owners, up to a limit`() {
        tally.begin(at: start)
        let (first, second) = (observe(1, 10).index, observe(2, 20).index)
        tally.describe(first, cll_wait(), lock(of: 100), cycle: nil)
        tally.describe(second, cll_wait(), lock(of: 200), cycle: 0)
        for number in 0..<Int32(StackTally.ownerCapacity) {
            tally.add(owner(100 + number, frames: 1), Self.stack([UInt64(100 + number)]), to: first)
        }
        tally.add(owner(9, frames: 1), Self.stack([9]), to: first)
        let deep = (0..<60).map { UInt64(1000 + $0) }
        tally.add(owner(200, frames: 60), Self.stack(deep), to: second)
        #expect(tally[first].owners == StackTally.ownerCapacity && tally[first].cycle == -1)
        #expect(tally[second].owners == 1 && tally[second].cycle == 0)
        for number in 0..<StackTally.ownerCapacity {
            #expect(tally.owner(number, of: first).tid == Int32(100 + number))
            // The first ones have a stack.
            let stored = number < StackTally.ownerStacks ? 1 : 0
            #expect(tally.owner(number, of: first).outcome.stored == stored)
            if stored > 0 { #expect(tally.frame(0, ofOwner: number, of: first).pc == UInt64(100 + number)) }
        }
        #expect(tally.owner(0, of: second).outcome.stored == StackTally.ownerFrames)
        let kept = (0..<StackTally.ownerFrames).map { tally.frame($0, ofOwner: 0, of: second).pc }
        #expect(kept == Array(deep.prefix(StackTally.ownerFrames)))
        // Described again, it loses its earlier owners.
        tally.describe(first, cll_wait(), lock(of: 300), cycle: nil)
        #expect(tally[first].owners == 0 && tally[first].lock.owner == 300)
    }

    @Test(arguments: [
        // The owner of the lock at 100, 200, … ms: the one that held it most of the time is kept, whichever holds it at the end.
        ([1, 1, 1, 1, 2], 1), ([1, 2, 2, 2, 2], 2), ([1, 2, 1, 3, 1], 1), ([1, 2, 3, 3, 3, 3], 3),
    ]) func `of several owners the one that held the lock longest is kept`(owners: [Int], kept: Int) {
        tally.begin(at: start)
        var known = 0
        for (number, owner) in owners.enumerated() {
            let place = observe(7, UInt64(number + 1) * 100)
            if tally.voteForOwner(of: place.index, isOther: owner != known, isFirst: place.isNew) { known = owner }
        }
        #expect(known == kept)
    }

    @Test func `a lock remains after its owners are forgotten`() {
        tally.begin(at: start)
        observe(1, 10)
        tally.describe(0, cll_wait(), lock(of: 100), cycle: 0)
        tally.add(owner(100, frames: 1), Self.stack([5]), to: 0)
        tally.forgetOwners(0)
        #expect(tally[0].owners == 0 && tally[0].cycle == -1)
        #expect(tally[0].lock.owner == 0 && tally[0].lock.address == 0x1000)
    }

    @Test func `a copy is equal and independent`() {
        tally.begin(at: start)
        observe(1, 10)
        observe(2, 30)
        tally.describe(1, cll_wait(), lock(of: 100), cycle: 0)
        tally.add(owner(100, frames: 2), Self.stack([5, 6]), to: 1)
        tally.recordFailure(.failed(.loopMovedOn))
        let copy = StackTally(maximumFrames: 4)!
        copy.begin(at: 0)
        _ = copy.add(Self.outcome(), Self.stack([77]), key: 77, at: 5)
        copy.copy(tally)
        #expect(weights(copy) == weights() && copy.count == 2 && copy.sampleCount == 3)
        #expect(copy.failure.failure == .loopMovedOn && copy.lostNanoseconds == 0)
        #expect(copy.frame(0, of: 1).pc == 2)
        #expect(copy[1].owners == 1 && copy[1].cycle == 0 && copy.owner(0, of: 1).tid == 100)
        #expect((0..<2).map { copy.frame($0, ofOwner: 0, of: 1).pc } == [5, 6])
        // It knows its last sample.
        copy.close(at: start + 40 * millisecond)
        #expect(weights(copy) == [1: 10, 2: 30] && weights() == [1: 10, 2: 20])
        #expect(observe(2, 50, in: copy).isSame)
    }

    @Test func `the next stall starts empty, even after its memory was released`() {
        tally.begin(at: start)
        observe(1, 10)
        observe(2, 20)
        tally.recordFailure(.failed(.loopMovedOn))
        tally.release()
        tally.begin(at: start + 100 * millisecond)
        #expect(tally.count == 0 && tally.sampleCount == 0 && tally.lostNanoseconds == 0)
        #expect(tally.failure.failure == .noFreeSlot)
        #expect(observe(2, 130) == (0, false, true))
        #expect(weights() == [2: 30])
    }
}

/// Stalls of thread pools.
struct StackTallyWorkerTests {
    private let tally = StackTally(maximumFrames: 4)!
    private let start: UInt64 = 1000 * millisecond

    @discardableResult
    private func observe(_ tid: Int32, _ key: UInt64, _ milliseconds: UInt64) -> (index: Int, isSame: Bool, isNew: Bool) {
        let buffer = FrameBuffer(capacity: 4)
        buffer.raw[0] = clu_frame()
        let outcome = CaptureOutcome(method: .passive, failure: nil, stored: 1, total: 1)
        return tally.add(worker: tid, outcome, buffer, key: key, at: start + milliseconds * millisecond)
    }

    private func weight(_ index: Int) -> UInt64 { tally[index].weightNanoseconds / millisecond }

    @Test func `the sample of each thread represents the time since the previous round`() {
        tally.begin(at: start)
        #expect(observe(11, 1, 100) == (0, false, true))
        #expect(observe(12, 1, 100) == (0, false, false))
        #expect(observe(13, 2, 100) == (1, false, true))
        tally.endRound(at: start + 100 * millisecond)
        #expect(weight(0) == 200 && weight(1) == 100)
        // In the next round, the first thread does something else; the second cannot be sampled.
        #expect(observe(11, 2, 150) == (1, false, false))
        tally.keep(worker: 12)
        #expect(observe(13, 2, 150) == (1, true, false))
        tally.endRound(at: start + 150 * millisecond)
        #expect(weight(0) == 200 && weight(1) == 200)
        tally.close(at: start + 160 * millisecond)
        #expect(weight(0) == 210 && weight(1) == 220)
        #expect(tally.sampleCount == 5)
        #expect((0..<tally.workerCount).map { tally.worker($0).tid } == [11, 12, 13])
        #expect((0..<tally.workerCount).map { tally.worker($0).stack } == [1, 0, 1])
        // A thread that is not seen has exited.
        observe(13, 2, 170)
        tally.endRound(at: start + 170 * millisecond)
        #expect((0..<tally.workerCount).map { tally.worker($0).tid } == [13])
    }

    @Test func `a stack that was replaced is no longer found`() {
        tally.begin(at: start)
        for number in 0...StackTally.capacity {
            observe(Int32(100 + number), UInt64(number + 1), 100)
        }
        tally.endRound(at: start + 100 * millisecond)
        let stacks = (0..<tally.workerCount).map { tally.worker($0).stack }
        #expect(stacks.filter { $0 < 0 }.count == 1 && stacks.count == StackTally.capacity + 1)
        tally.close(at: start + 150 * millisecond)
        let copy = StackTally(maximumFrames: 4)!
        copy.copy(tally)
        #expect((0..<copy.workerCount).map { copy.worker($0).stack } == stacks)
    }

    @Test func `threads beyond the capacity are still sampled`() {
        tally.begin(at: start)
        for number in 0..<StackTally.workerCapacity + 3 { observe(Int32(1 + number), 1, 10) }
        #expect(tally.workerCount == StackTally.workerCapacity)
        #expect(weight(0) == UInt64(StackTally.workerCapacity + 3) * 10)
        tally.begin(at: start)
        #expect(tally.workerCount == 0)
    }
}
