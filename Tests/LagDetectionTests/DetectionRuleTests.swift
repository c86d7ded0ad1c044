import Testing

@testable import LagDetection

struct DetectionRuleTests {
    @Test func theThresholdIsIntervalTimesTimeouts() {
        #expect(standardRule.thresholdNanoseconds == 150 * millisecond)
        #expect(DetectionRule(intervalNanoseconds: .max, timeouts: 2).thresholdNanoseconds == .max)
    }

    @Test(arguments: [(0, 50), (1, 50), (49, 50), (50, 100), (51, 100), (1_000_000, 1_000_050)] as [(UInt64, UInt64)])
    func ticksLieOnACommonGrid(now: UInt64, next: UInt64) {
        #expect(DetectionRule(intervalNanoseconds: 50, timeouts: 1).nextTick(after: now) == next)
    }

    @Test func theLastTickIsNeverReached() {
        #expect(DetectionRule(intervalNanoseconds: 50, timeouts: 1).nextTick(after: .max) == .max)
        #expect(DetectionRule(intervalNanoseconds: .max, timeouts: 1).nextTick(after: .max) == .max)
    }

    @Test func ticksGoOnWithoutGapOrRepetition() {
        var now: UInt64 = 12_345
        for _ in 0..<1000 {
            let next = standardRule.nextTick(after: now)
            #expect(
                next > now && next - now <= standardRule.intervalNanoseconds
                    && next.isMultiple(of: standardRule.intervalNanoseconds)
            )
            now = next
        }
    }
}
