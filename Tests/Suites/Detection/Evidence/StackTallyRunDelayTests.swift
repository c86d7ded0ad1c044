import Testing

@testable import LagCapture
@testable import LagDetection

/// Where a thread waits for a processor is not what stalls it.
struct StackTallyRunDelayTests {
    private let tally = StackTally(maximumFrames: 4)!

    private func add(_ key: UInt64, _ state: KernelState, _ milliseconds: UInt64, waited: UInt64?) {
        var outcome = CaptureOutcome(method: .ptrace, failure: nil, stored: 0, total: 0)
        outcome.state = state
        _ = tally.add(outcome, nil, key: key, at: milliseconds * millisecond, waited: waited.map { $0 * millisecond })
    }

    private func weight(_ key: UInt64) -> UInt64? {
        (0..<tally.count).first { tally[$0].key == key }.map { tally[$0].weightNanoseconds / millisecond }
    }

    @Test func `a thread that woke without a processor is not blamed for the wait`() {
        tally.begin(at: 0)
        add(1, .running, 300, waited: 290)
        add(2, .running, 350, waited: 10)
        tally.close(at: 400 * millisecond)
        // The ten milliseconds before the first sample are shared.
        #expect(weight(1) == 5 && weight(2) == 95)
    }

    @Test func `a preempted function keeps the time that it ran`() {
        tally.begin(at: 0)
        for number in 1...4 { add(1, .running, UInt64(number) * 100, waited: 80) }
        add(2, .running, 430, waited: 0)
        #expect(weight(1) == 80 && weight(2) == 30)
    }

    @Test func `the run delay of a thread that sleeps does not count`() {
        tally.begin(at: 0)
        add(1, .asleep, 300, waited: 290)
        add(1, .asleep, 500, waited: 200)
        #expect(weight(1) == 500)
        add(2, .running, 600, waited: 100)
        #expect(weight(2) == 100)
    }

    @Test func `more delay than time leaves nothing`() {
        tally.begin(at: 0)
        add(1, .running, 200, waited: 900)
        #expect(weight(1) == 0)
    }
}
