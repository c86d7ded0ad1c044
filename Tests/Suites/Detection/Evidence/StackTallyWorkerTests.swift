import Testing

@testable import LagCapture
@testable import LagDetection

/// Stalls of thread pools.
struct StackTallyWorkerTests {
    private let tally = StackTally.small()
    private let start = StackTally.start

    private func weight(_ index: Int) -> UInt64 { tally[index].weightNanoseconds / millisecond }

    @Test func `the sample of each thread represents the time since the previous round`() {
        tally.begin(at: start)
        #expect(tally.observe(worker: 11, 1, 100) == (0, false, true))
        #expect(tally.observe(worker: 12, 1, 100) == (0, false, false))
        #expect(tally.observe(worker: 13, 2, 100) == (1, false, true))
        tally.endRound(at: start + 100 * millisecond)
        #expect(weight(0) == 200 && weight(1) == 100)
        // In the next round, the first thread does something else; the second cannot be sampled.
        #expect(tally.observe(worker: 11, 2, 150) == (1, false, false))
        tally.keep(worker: 12)
        #expect(tally.observe(worker: 13, 2, 150) == (1, true, false))
        tally.endRound(at: start + 150 * millisecond)
        #expect(weight(0) == 200 && weight(1) == 200)
        tally.close(at: start + 160 * millisecond)
        #expect(weight(0) == 210 && weight(1) == 220)
        #expect(tally.sampleCount == 5)
        #expect((0..<tally.workerCount).map { tally.worker($0).tid } == [11, 12, 13])
        #expect((0..<tally.workerCount).map { tally.worker($0).stack } == [1, 0, 1])
        // A thread that is not seen has exited.
        tally.observe(worker: 13, 2, 170)
        tally.endRound(at: start + 170 * millisecond)
        #expect((0..<tally.workerCount).map { tally.worker($0).tid } == [13])
    }

    @Test func `a stack that was replaced is no longer found`() {
        tally.begin(at: start)
        for number in 0...StackTally.capacity {
            tally.observe(worker: Int32(100 + number), UInt64(number + 1), 100)
        }
        tally.endRound(at: start + 100 * millisecond)
        let stacks = (0..<tally.workerCount).map { tally.worker($0).stack }
        #expect(stacks.filter { $0 < 0 }.count == 1 && stacks.count == StackTally.capacity + 1)
        tally.close(at: start + 150 * millisecond)
        let copy = StackTally.small()
        copy.copy(tally)
        #expect((0..<copy.workerCount).map { copy.worker($0).stack } == stacks)
    }

    @Test func `threads beyond the capacity are still sampled`() {
        tally.begin(at: start)
        for number in 0..<StackTally.workerCapacity + 3 { tally.observe(worker: Int32(1 + number), 1, 10) }
        #expect(tally.workerCount == StackTally.workerCapacity)
        #expect(weight(0) == UInt64(StackTally.workerCapacity + 3) * 10)
        tally.begin(at: start)
        #expect(tally.workerCount == 0)
    }
}
