import Testing

@testable import LagDetection

struct StackSamplingBackoffTests {
    /// The times of a stall's samples, in milliseconds, from the first one on.
    private func samples(from first: UInt64, until end: UInt64, isSame: Bool) -> [UInt64] {
        var stackSamplingBackoff = StackSamplingBackoff()
        var times = [first * millisecond]
        while let time = times.last, time + stackSamplingBackoff.gapNanoseconds < end * millisecond {
            stackSamplingBackoff.record(isSame: isSame, age: time)
            times.append(time + stackSamplingBackoff.gapNanoseconds)
        }
        return times.map { $0 / millisecond }
    }

    /// The first sample represents the time before it.
    @Test(arguments: [300, 600, 2000, 10_000] as [UInt64])
    func `no later sample represents more than a tenth of the stall`(end: UInt64) throws {
        let times = samples(from: 150, until: end, isSame: true)
        let gaps = zip(times.dropFirst() + [end], times).map { $0 - $1 }
        #expect(try #require(gaps.max()) <= end / 10)
    }

    @Test func `a changing stack is sampled more often`() {
        let (changing, same) = (samples(from: 150, until: 10_000, isSame: false), samples(from: 150, until: 10_000, isSame: true))
        #expect(changing.count > 2 * same.count)
    }

    @Test func `another stack shortens the gap between samples`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        stackSamplingBackoff.record(isSame: true, age: 1600 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 100 * millisecond)
        stackSamplingBackoff.record(isSame: false, age: 1600 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 25 * millisecond)
    }

    /// The cost of a hang: about 450 samples in an hour.
    @Test func `a hang is sampled less and less often`() {
        #expect((440...460).contains(samples(from: 150, until: 3_600_000, isSame: true).count))
    }

    /// A stack that changes with every sample: forty samples a second for hours would be too many.
    @Test func `a hang with a changing stack is sampled less often too`() {
        var stackSamplingBackoff = StackSamplingBackoff()
        stackSamplingBackoff.record(isSame: false, age: 32_000 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 500 * millisecond)
        stackSamplingBackoff.record(isSame: true, age: 32_000 * millisecond)
        #expect(stackSamplingBackoff.gapNanoseconds == 2000 * millisecond)
        stackSamplingBackoff.record(isSame: false, age: .max)
        #expect(stackSamplingBackoff.gapNanoseconds == 1000 * millisecond)
        stackSamplingBackoff.record(isSame: true, age: .max)
        #expect(stackSamplingBackoff.gapNanoseconds == 10_000 * millisecond)
    }

    @Test(arguments: [0, 1, 12_345_678_901, UInt64.max])
    func `the random gap differs from the gap by at most a quarter`(random: UInt64) {
        #expect((18_750_000...31_250_000).contains(StackSamplingBackoff().gap(random)))
    }
}
