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
}
