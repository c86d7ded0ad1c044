import Testing

@testable import LagCapture
@testable import LagDetection

/// How much of a stall each stack represents.
struct StackTallyTests {
    private let tally = StackTally.small()
    private let start = StackTally.start

    @Test func `the first sample represents all time before it, and the last one all time after it`() {
        tally.begin(at: start)
        tally.observe(7, 150)
        #expect(tally.weights == [7: 150])
        tally.close(at: start + 400 * millisecond)
        #expect(tally.weights == [7: 400])
        #expect(tally.sampleCount == 1 && tally[0].count == 1)
    }

    /// Of a function that contains inlined functions: the places of its samples, however much time the first sample represents.
    @Test func `the weight of a stack is divided among the places of its innermost function by samples`() {
        tally.begin(at: start)
        for (pc, milliseconds) in [(100, 300), (100, 310), (200, 320), (100, 330)] as [(UInt64, UInt64)] {
            _ = tally.add(.passive(2), .stack([pc, 7]), key: 1, at: start + milliseconds * millisecond)
        }
        let copy = StackTally.small()
        copy.copy(tally)
        for tally in [tally, copy] {
            let places = tally.stackAtLeaves(0)
            #expect(places.map(\.pc) == [100, 200] && places.map(\.stack.count) == [3, 1])
            #expect(places.map { Double($0.stack.weightNanoseconds) / Double(millisecond) } == [247.5, 82.5])
        }
        // More places than are stored.
        for pc in 0..<100 {
            _ = tally.add(.passive(2), .stack([1000 + UInt64(pc), 7]), key: 2, at: start + 400 * millisecond)
        }
        let crowded = tally.stackAtLeaves(1)
        #expect(crowded.count == StackTally.leafCapacity && crowded.reduce(0) { $0 + $1.stack.count } == 100)
        #expect(crowded.reduce(0) { $0 + $1.stack.weightNanoseconds } == tally[1].weightNanoseconds)
        // Another stall.
        tally.begin(at: start)
        tally.observe(7, 150)
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
            var outcome = CaptureOutcome.passive()
            outcome.state = state
            let key: UInt64 = number % 2 == 0 ? 1 : 2
            _ = tally.add(outcome, .stack([key]), key: key, at: start + UInt64(150 + 10 * number) * millisecond)
        }
        #expect(tally.weights == [1: one, 2: other])
    }

    @Test func `the time between two samples of the same stack belongs to that stack`() {
        tally.begin(at: start)
        #expect(tally.observe(7, 100) == (0, false, true))
        #expect(tally.observe(7, 180) == (0, true, false))
        #expect(tally.weights == [7: 180])
        #expect(tally[0].count == 2)
    }

    @Test func `the time since the previous sample belongs to the new stack`() {
        tally.begin(at: start)
        tally.observe(1, 100)
        #expect(tally.observe(2, 160) == (1, false, true))
        #expect(tally.weights == [1: 100, 2: 60])
        // The first stack again: known, but not the same as the previous one.
        #expect(tally.observe(1, 200) == (0, false, false))
        tally.close(at: start + 210 * millisecond)
        #expect(tally.weights == [1: 150, 2: 60])
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
        var outcome = CaptureOutcome.passive()
        outcome.state = before
        _ = tally.add(outcome, .stack([1]), key: 1, at: start, slept: nil)
        outcome.state = after
        _ = tally.add(outcome, .stack([2]), key: 2, at: start + 200 * millisecond, slept: slept * millisecond)
        #expect(tally.weights == [1: weightBefore, 2: weightAfter])
    }

    @Test func `sleep between two samples of the same sleep is counted`() {
        tally.begin(at: start)
        var outcome = CaptureOutcome.passive()
        for (key, state, milliseconds) in [
            (1, KernelState.asleep, 50), (1, .asleep, 100), (2, .running, 150), (2, .running, 200), (1, .asleep, 250),
            (1, .asleep, 300),
        ] as [(UInt64, KernelState, UInt64)] {
            outcome.state = state
            _ = tally.add(outcome, .stack([key]), key: key, at: start + milliseconds * millisecond)
        }
        #expect(tally.asleepNanoseconds == 100 * millisecond)
        tally.begin(at: start)
        #expect(tally.asleepNanoseconds == 0)
    }

    @Test func `an odd nanosecond is not lost`() {
        tally.begin(at: 0)
        _ = tally.add(.passive(), .stack([1]), key: 1, at: 0)
        _ = tally.add(.passive(), .stack([2]), key: 2, at: 7)
        #expect(tally[0].weightNanoseconds + tally[1].weightNanoseconds == 7)
    }

    @Test func `a failed sample counts, and its time belongs to the samples around it`() {
        tally.begin(at: start)
        tally.observe(1, 100)
        tally.recordFailure(.failed(.loopMovedOn))
        tally.observe(1, 300)
        #expect(tally.sampleCount == 3 && tally.count == 1 && tally[0].count == 2)
        #expect(tally.weights == [1: 300])
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
        tally.observe(1, 100)
        tally.observe(2, 50)
        tally.close(at: start + 90 * millisecond)
        #expect(tally.weights == [1: 100, 2: 0])
        tally.close(at: start + 110 * millisecond)
        #expect(tally.weights == [1: 100, 2: 10])
    }

    @Test func `time in which the process could not run belongs to no stack`() {
        tally.begin(at: start)
        tally.observe(1, 100)
        let stop = ProcessPause(
            from: start + 110 * millisecond,
            to: start + 1110 * millisecond,
            atLeast: 990 * millisecond,
            atMost: 1000 * millisecond
        )
        tally.skip(over: stop, until: start + 1120 * millisecond)
        tally.observe(2, 1150)
        #expect(tally.weights == [1: 100, 2: 60])
    }

    @Test func `the next stall starts empty, even after its memory was released`() {
        tally.begin(at: start)
        tally.observe(1, 10)
        tally.observe(2, 20)
        tally.recordFailure(.failed(.loopMovedOn))
        tally.release()
        tally.begin(at: start + 100 * millisecond)
        #expect(tally.count == 0 && tally.sampleCount == 0 && tally.lostNanoseconds == 0)
        #expect(tally.failure.failure == .noFreeSlot)
        #expect(tally.observe(2, 130) == (0, false, true))
        #expect(tally.weights == [2: 30])
    }
}
