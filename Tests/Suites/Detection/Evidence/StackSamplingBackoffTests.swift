import Testing

@testable import LagDetection

struct StackSamplingBackoffTests {
    @Test func `the same stack doubles the gap up to the longest`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        var gaps = [stackSamplingBackoff.gapNanoseconds]
        for _ in 0..<12 {
            stackSamplingBackoff.record(isSame: true, age: 0)
            gaps.append(stackSamplingBackoff.gapNanoseconds)
        }
        let milliseconds: [UInt64] = [50, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000, 10_000, 10_000]
        #expect(gaps == milliseconds.map { $0 * millisecond })
    }

    @Test func `another stack brings the first gap back`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        for _ in 0..<5 { stackSamplingBackoff.record(isSame: true, age: 0) }
        stackSamplingBackoff.record(isSame: false, age: 0)
        #expect(stackSamplingBackoff == StackSamplingBackoff())
        stackSamplingBackoff.record(isSame: true, age: 0)
        #expect(stackSamplingBackoff.gapNanoseconds == 100 * millisecond)
    }

    /// What a hang costs: an hour takes some 360 looks.
    @Test func `a hang is soon left alone`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        var (time, looks): (UInt64, Int) = (0, 0)
        while time < 3_600_000 * millisecond {
            time += stackSamplingBackoff.gapNanoseconds
            stackSamplingBackoff.record(isSame: true, age: 0)
            looks += 1
        }
        #expect((360...370).contains(looks))
    }

    /// One that is never the same: twenty looks a second, for hours, would be too many.
    @Test func `a busy hang is left alone too`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        stackSamplingBackoff.record(isSame: false, age: 3200 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 50 * millisecond)
        stackSamplingBackoff.record(isSame: false, age: 32_000 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 500 * millisecond)
        stackSamplingBackoff.record(isSame: true, age: 32_000 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 1000 * millisecond)
        stackSamplingBackoff.record(isSame: false, age: .max)
        #expect(stackSamplingBackoff.gapNanoseconds == 1000 * millisecond)
    }

    @Test(arguments: [0, 1, 12_345_678_901, UInt64.max]) func `the gap is within a quarter of itself`(random: UInt64) {
        #expect((37_500_000...62_500_000).contains(StackSamplingBackoff().gap(random)))
    }
}
