internal import LagActivity
import Testing

@testable import LagDetection

/// The times of a stall if the beginning of a job lies between two samples.
struct SampledBeginTests {
    /// Seen at rest at 950 ms, working at 1000, at rest again at `end`; observed at each tick.
    private func interval(end: UInt64) -> StallInterval? {
        var strategy = CalloutStrategy(rule: standardRule)
        var stretches = SampledStretches()
        let word: UInt64 = 1 << 8 | UInt64(LoopActivity.beforeSources.rawValue)
        stretches.begin(
            word: word,
            at: TimeBounds(950 * millisecond, likely: 1000 * millisecond, 1000 * millisecond),
            mayHaveBegun: 975 * millisecond
        )
        var reading = BeaconReading(word: word, calloutNanoseconds: 1000 * millisecond)
        reading.sampled = stretches
        for time in stride(from: 1000, to: end, by: 50) {
            _ = strategy.observe(reading, at: time * millisecond, isTick: time > 1000)
        }
        stretches.end(at: TimeBounds((end - 10) * millisecond, likely: (end - 5) * millisecond, end * millisecond))
        var rest = BeaconReading(word: 2 << 8 | UInt64(LoopActivity.waiting.rawValue), calloutNanoseconds: 1000 * millisecond)
        rest.sampled = stretches
        guard case .ended(let interval) = strategy.observe(rest, at: end * millisecond, isTick: false) else { return nil }
        return interval
    }

    @Test func `the duration is measured between the middles, and lies within its bounds`() throws {
        let stall = try #require(self.interval(end: 1400))
        #expect(stall.length == 420 * millisecond)
        #expect(stall.lengthAtLeast == 390 * millisecond && stall.lengthAtMost == 450 * millisecond)
    }

    @Test func `the certain duration decides whether it is a stall`() {
        #expect(interval(end: 1149) == nil)
        #expect(interval(end: 1201) != nil)
    }

    /// The second poll is late by eight intervals.
    @Test(arguments: [(0, 0, true), (1050, 0, true), (1390, 0, false), (0, 1050, true), (0, 1390, false)])
    func `a late poll counts for the time in which no other stretch can have begun`(
        latest: UInt64,
        gap: UInt64,
        isStalled: Bool
    ) {
        var strategy = CalloutStrategy(rule: standardRule)
        var stretches = SampledStretches()
        let word: UInt64 = 1 << 8 | UInt64(LoopActivity.beforeSources.rawValue)
        let (rested, seen) = (950 * millisecond, 1000 * millisecond)
        stretches.begin(word: word, at: TimeBounds(rested, likely: seen, seen))
        var reading = BeaconReading(word: word, calloutNanoseconds: seen)
        reading.sampled = stretches
        #expect(strategy.observe(reading, at: seen, isTick: false) == .nothing)
        stretches.refine(
            TimeBounds(rested, likely: seen, max(seen, latest * millisecond)),
            mayHaveBegun: nil,
            gap: gap * millisecond
        )
        reading.sampled = stretches
        #expect(strategy.observe(reading, at: 1400 * millisecond) == (isStalled ? .stalled : .suspected))
        // Polls in time count as before.
        for time: UInt64 in [1450, 1500] { _ = strategy.observe(reading, at: time * millisecond) }
        #expect(strategy.isStalled)
    }
}
