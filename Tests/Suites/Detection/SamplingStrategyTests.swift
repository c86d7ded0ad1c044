internal import LagActivity
import Testing

@testable import LagDetection

struct SamplingStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    /// Three samples, 50 ms apart.
    private let rule = WatchRules.Sampling(intervalNanoseconds: 50 * millisecond, samples: 3, functions: 2)
    private let one = SampleKey(1, 2)
    private let other = SampleKey(1, 3)

    private func work(_ sequence: UInt64 = 1) -> BeaconReading { BeaconReading(sequence, .beforeSources, at: 1, woke: 1) }

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    /// First seen at 0, stack sampled at 50, 100 and 150 ms.
    private func stalled() -> SamplingStrategy {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        for time: UInt64 in [50, 100] { #expect(strategy.observe(work(time), at: at(time), sample: one) == .nothing) }
        #expect(strategy.observe(work(9), at: at(150), sample: one) == .stalled)
        return strategy
    }

    @Test func `the same functions on top of n samples are a stall`() {
        let strategy = stalled()
        #expect(strategy.thresholdNanoseconds == 100 * millisecond)
        // It is certain from the first of these samples on.
        #expect(strategy.interval == StallInterval(since: at(50), seen: at(150)))
        #expect(strategy.alike == 3 && strategy.isStalled)
    }

    @Test func `a sample is due one interval after the last`() {
        var strategy = SamplingStrategy(rule: rule)
        #expect(!strategy.wantsSample(work(), at: at(0)))
        _ = strategy.observe(work(), at: at(0))
        #expect(strategy.nextPoll == at(50))
        #expect(!strategy.wantsSample(work(), at: at(50) - 1))
        #expect(strategy.wantsSample(work(), at: at(50)))
        #expect(!strategy.wantsSample(BeaconReading(2, .waiting), at: at(50)))
        _ = strategy.observe(work(), at: at(57), sample: one)
        #expect(strategy.nextPoll == at(107))
    }

    @Test func `another function restarts the count`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        for (time, key) in [(50, one), (100, one), (150, other), (200, other)] {
            #expect(strategy.observe(work(), at: at(UInt64(time)), sample: key) == .nothing)
        }
        #expect(strategy.observe(work(), at: at(250), sample: other) == .stalled)
        #expect(strategy.interval?.since == at(150))
    }

    @Test func `another function ends a sample stall`() {
        var strategy = stalled()
        _ = strategy.observe(work(), at: at(200), sample: one)
        guard case .ended(let interval) = strategy.observe(work(), at: at(250), sample: other) else {
            Issue.record("no end")
            return
        }
        #expect(interval.lengthAtLeast == 150 * millisecond && interval.lengthAtMost == 200 * millisecond)
        // The other function may be the next stall.
        #expect(strategy.alike == 1 && strategy.interval?.since == at(250))
    }

    @Test(arguments: [LoopActivity.waiting, .notRunning, .expected, .finished])
    func `a rest ends a sample stall`(activity: LoopActivity) {
        var strategy = stalled()
        guard case .ended(let interval) = strategy.observe(BeaconReading(2, activity), at: at(170)) else {
            Issue.record("no end")
            return
        }
        #expect(interval.lengthAtLeast == 100 * millisecond && interval.lengthAtMost == 120 * millisecond)
        #expect(strategy.nextPoll == nil && strategy.interval == nil)
        // Samples before a rest do not count after it.
        _ = strategy.observe(work(), at: at(200))
        for time: UInt64 in [250, 300] { #expect(strategy.observe(work(), at: at(time), sample: one) == .nothing) }
        #expect(strategy.observe(work(), at: at(350), sample: one) == .stalled)
    }

    @Test func `a failed sample neither continues nor ends a stall`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        _ = strategy.observe(work(), at: at(100), sample: one)
        #expect(strategy.observe(work(), at: at(150)) == .nothing)
        #expect(strategy.alike == 2 && strategy.nextPoll == at(200))
        #expect(strategy.observe(work(), at: at(200), sample: one) == .stalled)
        // A poll between the samples delays none of them.
        _ = strategy.observe(work(), at: at(220))
        #expect(strategy.nextPoll == at(250))
    }

    @Test func `a process pause delays a sample stall by its length`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        let processPause = ProcessPause(from: at(60), to: at(1000))
        #expect(strategy.observe(work(), at: at(1000), processPause: processPause, sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(1050), sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(1100), sample: one) == .stalled)
        #expect(strategy.interval?.length(at: at(1100)) == 110 * millisecond)
    }

    @Test func `a process pause between two samples is subtracted too`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        _ = strategy.observe(work(), at: at(90), processPause: ProcessPause(from: at(60), to: at(90)))
        #expect(strategy.observe(work(), at: at(100), sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(150), sample: one) == .nothing)
        #expect(strategy.interval?.length(at: at(150)) == 70 * millisecond)
        #expect(strategy.observe(work(), at: at(200), sample: one) == .stalled)
    }

    @Test func `time before ignoreBefore does not count`() {
        var strategy = SamplingStrategy(rule: rule)
        for time: UInt64 in [0, 50, 100, 150, 200, 250] {
            #expect(strategy.observe(work(), at: at(time), sample: one, ignoreBefore: at(200)) == .nothing)
        }
        #expect(strategy.observe(work(), at: at(300), sample: one, ignoreBefore: at(200)) == .stalled)
        #expect(strategy.interval?.since == at(200))
        strategy.begin(notBefore: at(310))
        #expect(!strategy.isStalled && strategy.interval == nil && strategy.alike == 0)
        for time: UInt64 in [350, 400] {
            #expect(strategy.observe(work(), at: at(time), sample: one, ignoreBefore: at(310)) == .nothing)
        }
        #expect(strategy.observe(work(), at: at(450), sample: one, ignoreBefore: at(310)) == .stalled)
    }

    @Test func `two keys are equal if all their functions are`() {
        #expect(SampleKey(1, 2, 3, 4) == SampleKey(1, 2, 3, 4))
        for different in [SampleKey(9, 2, 3, 4), SampleKey(1, 9, 3, 4), SampleKey(1, 2, 9, 4), SampleKey(1, 2, 3, 9)] {
            #expect(different != SampleKey(1, 2, 3, 4))
        }
    }
}
