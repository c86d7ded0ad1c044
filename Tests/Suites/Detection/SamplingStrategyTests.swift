internal import LagActivity
import Testing

@testable import LagDetection

struct SamplingStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    /// Three looks, 50 ms apart.
    private let rule = WatchRules.Sampling(intervalNanoseconds: 50 * millisecond, samples: 3, functions: 2)
    private let one = SampleKey(1, 2)
    private let other = SampleKey(1, 3)

    private func work(_ sequence: UInt64 = 1) -> BeaconReading { BeaconReading(sequence, .beforeSources, at: 1, woke: 1) }

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    /// First seen at 0, looked at the stack at 50, 100 and 150 ms.
    private func stalled() -> SamplingStrategy {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        for time: UInt64 in [50, 100] { #expect(strategy.observe(work(time), at: at(time), sample: one) == .nothing) }
        #expect(strategy.observe(work(9), at: at(150), sample: one) == .stalled)
        return strategy
    }

    @Test func `the same on top n times is a stall`() {
        let strategy = stalled()
        #expect(strategy.thresholdNanoseconds == 100 * millisecond)
        // It lasts for certain from the first of the looks on.
        #expect(strategy.interval == StallInterval(since: at(50), seen: at(150)))
        #expect(strategy.alike == 3 && strategy.isStalled)
    }

    @Test func `a sample is due an interval after the last`() {
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

    @Test func `another function begins anew`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        for (time, key) in [(50, one), (100, one), (150, other), (200, other)] {
            #expect(strategy.observe(work(), at: at(UInt64(time)), sample: key) == .nothing)
        }
        #expect(strategy.observe(work(), at: at(250), sample: other) == .stalled)
        #expect(strategy.interval?.since == at(150))
    }

    @Test func `another function ends it`() {
        var strategy = stalled()
        _ = strategy.observe(work(), at: at(200), sample: one)
        guard case .ended(let interval) = strategy.observe(work(), at: at(250), sample: other) else {
            Issue.record("no end")
            return
        }
        #expect(interval.lengthAtLeast == 150 * millisecond && interval.lengthAtMost == 200 * millisecond)
        // The other one may be the next stall.
        #expect(strategy.alike == 1 && strategy.interval?.since == at(250))
    }

    @Test(arguments: [LoopActivity.waiting, .notRunning, .expected, .finished])
    func `a rest ends it`(activity: LoopActivity) {
        var strategy = stalled()
        guard case .ended(let interval) = strategy.observe(BeaconReading(2, activity), at: at(170)) else {
            Issue.record("no end")
            return
        }
        #expect(interval.lengthAtLeast == 100 * millisecond && interval.lengthAtMost == 120 * millisecond)
        #expect(strategy.nextPoll == nil && strategy.interval == nil)
        // What was seen before a rest says nothing of what comes after.
        _ = strategy.observe(work(), at: at(200))
        for time: UInt64 in [250, 300] { #expect(strategy.observe(work(), at: at(time), sample: one) == .nothing) }
        #expect(strategy.observe(work(), at: at(350), sample: one) == .stalled)
    }

    @Test func `a sample that failed says neither this nor that`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        _ = strategy.observe(work(), at: at(100), sample: one)
        #expect(strategy.observe(work(), at: at(150)) == .nothing)
        #expect(strategy.alike == 2 && strategy.nextPoll == at(200))
        #expect(strategy.observe(work(), at: at(200), sample: one) == .stalled)
        // One between the looks puts none of them off.
        _ = strategy.observe(work(), at: at(220))
        #expect(strategy.nextPoll == at(250))
    }

    @Test func `process pauses put the stall off`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        let processPause = ProcessPause(from: at(60), to: at(1000))
        #expect(strategy.observe(work(), at: at(1000), processPause: processPause, sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(1050), sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(1100), sample: one) == .stalled)
        #expect(strategy.interval?.length(at: at(1100)) == 110 * millisecond)
    }

    @Test func `a process pause between the samples of the stack is subtracted too`() {
        var strategy = SamplingStrategy(rule: rule)
        _ = strategy.observe(work(), at: at(0))
        _ = strategy.observe(work(), at: at(50), sample: one)
        _ = strategy.observe(work(), at: at(90), processPause: ProcessPause(from: at(60), to: at(90)))
        #expect(strategy.observe(work(), at: at(100), sample: one) == .nothing)
        #expect(strategy.observe(work(), at: at(150), sample: one) == .nothing)
        #expect(strategy.interval?.length(at: at(150)) == 70 * millisecond)
        #expect(strategy.observe(work(), at: at(200), sample: one) == .stalled)
    }

    @Test func `nothing before ignoreBefore counts`() {
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

    @Test func `keys are alike in all their functions`() {
        #expect(SampleKey(1, 2, 3, 4) == SampleKey(1, 2, 3, 4))
        for different in [SampleKey(9, 2, 3, 4), SampleKey(1, 9, 3, 4), SampleKey(1, 2, 9, 4), SampleKey(1, 2, 3, 9)] {
            #expect(different != SampleKey(1, 2, 3, 4))
        }
    }
}
