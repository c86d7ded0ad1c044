internal import CLibunwind
import TestSupport
import Testing

@testable import LagCapture
@testable import LagDetection

/// More stacks, or more frames, than are stored.
struct StackTallyReplacementTests {
    private let tally = StackTally.small()
    private let start = StackTally.start

    @Test func `the lightest stack is replaced, but not the latest`() {
        tally.begin(at: start)
        // Weights decrease: 100 for the first, and less for each next one.
        var time: UInt64 = 100
        tally.observe(1, time)
        for key in 2...UInt64(StackTally.capacity) {
            time += 40 - key * 2
            tally.observe(key, time)
        }
        #expect(tally.count == StackTally.capacity)
        let before = tally.weights
        // The latest is the lightest: so the second lightest is replaced.
        let latest = UInt64(StackTally.capacity)
        #expect(before.min { $0.value < $1.value }?.key == latest)
        let other = tally.observe(99, time + 2)
        #expect(other.isNew && !other.isSame && other.index == Int(latest) - 2)
        let after = tally.weights
        #expect(after[latest] == before[latest] && after[99] == 2)
        #expect(after[latest - 1] == nil)
        #expect(Double(tally.lostNanoseconds) / Double(millisecond) == before[latest - 1])
        // All time is still accounted for.
        tally.close(at: start + (time + 5) * millisecond)
        let sum = tally.weights.values.reduce(0, +) + Double(tally.lostNanoseconds) / Double(millisecond)
        #expect(sum == Double(time + 5))
        // A stack that returns after its replacement is new.
        #expect(tally.observe(latest - 1, time + 6).isNew)
    }

    @Test func `the latest stack is kept in the first place too`() {
        tally.begin(at: start)
        for key in 1...UInt64(StackTally.capacity) { tally.observe(key, 0) }
        tally.observe(1, 0)
        #expect(tally.observe(50, 0).index == 1)
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
                let place = tally.observe(key, time)
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

    @Test func `frames beyond the maximum are cut off`() {
        tally.begin(at: start)
        _ = tally.add(.passive(6), .stack([10, 11, 12, 13, 14, 15]), key: 1, at: start)
        _ = tally.add(.passive(2), .stack([20, 21]), key: 2, at: start)
        #expect(tally[0].outcome.stored == 4 && tally[0].outcome.total == 6)
        #expect((0..<4).map { tally.frame($0, of: 0).pc } == [10, 11, 12, 13])
        #expect((0..<2).map { tally.frame($0, of: 1).pc } == [20, 21])
    }
}
