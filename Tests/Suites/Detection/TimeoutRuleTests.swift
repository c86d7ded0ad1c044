internal import LagModel
import Testing

@testable import LagDetection

struct TimeoutRuleTests {
    @Test func `the threshold is the interval times the timeouts`() {
        #expect(standardRule.thresholdNanoseconds == 150 * millisecond)
        #expect(TimeoutRule(intervalNanoseconds: .max, timeouts: 2).thresholdNanoseconds == .max)
    }

    @Test(arguments: [(0, 50), (1, 50), (49, 50), (50, 100), (51, 100), (1_000_000, 1_000_050)] as [(UInt64, UInt64)])
    func `ticks are multiples of the interval`(now: UInt64, next: UInt64) {
        #expect(now.nextTick(ofInterval: 50) == next)
    }

    @Test func `the last tick is never reached`() {
        #expect(UInt64.max.nextTick(ofInterval: 50) == .max)
        #expect(UInt64.max.nextTick(ofInterval: .max) == .max)
    }

    @Test func `ticks follow each other without a gap or repetition`() {
        var now: UInt64 = 12_345
        let interval = standardRule.intervalNanoseconds
        for _ in 0..<1000 {
            let next = now.nextTick(ofInterval: interval)
            #expect(next > now && next - now <= interval && next.isMultiple(of: interval))
            now = next
        }
    }
}
