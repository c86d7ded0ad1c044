import Testing

@testable import LagDetection

struct ClockWatchTests {
    private let second: UInt64 = 1_000_000_000
    private let start = ClockReadings(monotonic: 50_000_000_000, boottime: 70_000_000_000, realtime: 1_700_000_000_000_000_000)

    /// The kernel's clocks after running, sleeping, and being set.
    private func later(
        than first: ClockReadings,
        running: UInt64,
        suspended: UInt64 = 0,
        stepped: Int64 = 0,
        spread: UInt64 = 0
    ) -> ClockReadings {
        ClockReadings(
            monotonic: first.monotonic + running,
            boottime: first.boottime + running + suspended,
            realtime: first.realtime + Int64(running + suspended) + stepped,
            spread: spread
        )
    }

    private func change(
        running: UInt64,
        suspended: UInt64 = 0,
        stepped: Int64 = 0,
        spread: UInt64 = 0
    ) -> ClockWatch.Change {
        var watch = ClockWatch(since: start)
        return watch.advance(to: later(than: start, running: running, suspended: suspended, stepped: stepped, spread: spread))
    }

    @Test func `elapsed time is not a clock change`() {
        #expect(change(running: 0) == .none)
        #expect(change(running: 86_400 * second) == .none)
    }

    @Test func `a suspension is not a clock step`() {
        #expect(change(running: second, suspended: 7 * second) == .init(suspendedNanoseconds: 7 * second))
    }

    @Test func `a clock step is not a suspension`() {
        #expect(change(running: second, stepped: 3_600_000_000_000) == .init(clockStepNanoseconds: 3_600_000_000_000))
        #expect(change(running: second, stepped: -5_000_000) == .init(clockStepNanoseconds: -5_000_000))
    }

    @Test func `a suspension and a clock step at the same time are distinguished`() {
        let change = change(running: second, suspended: 9 * second, stepped: -2_000_000_000)
        #expect(change == .init(suspendedNanoseconds: 9 * second, clockStepNanoseconds: -2_000_000_000))
    }

    @Test func `changes within the tolerance are ignored`() {
        #expect(change(running: 0, suspended: 1_000_000) == .none)
        #expect(change(running: 0, suspended: 1_000_001).suspendedNanoseconds == 1_000_001)
        #expect(change(running: 0, stepped: -1_000_000) == .none)
        #expect(change(running: 0, stepped: -1_000_001).clockStepNanoseconds == -1_000_001)
    }

    @Test(arguments: [1, 60, 199] as [UInt64])
    func `slewing by five hundred parts per million is not a clock step`(seconds: UInt64) {
        let slewed = Int64(seconds * 500_000)
        #expect(change(running: seconds * second, stepped: slewed) == .none)
        #expect(change(running: seconds * second, stepped: -slewed) == .none)
        #expect(change(running: seconds * second, stepped: slewed + 1_100_000).clockStepNanoseconds == slewed + 1_100_000)
    }

    @Test func `a clock step of a second is found after a long time too`() {
        #expect(change(running: 86_400 * second, stepped: 1_000_000_000).clockStepNanoseconds == 1_000_000_000)
    }

    @Test func `a change within the uncertainty of an interrupted reading is ignored`() {
        #expect(change(running: second, stepped: 40_000_000, spread: 50_000_000) == .none)
        #expect(change(running: second, suspended: 40_000_000, spread: 50_000_000) == .none)
        #expect(change(running: second, suspended: 60_000_000, spread: 50_000_000).suspendedNanoseconds == 60_000_000)
    }

    @Test func `the uncertainty of both readings counts`() {
        var watch = ClockWatch(since: later(than: start, running: 0, spread: 30_000_000))
        #expect(watch.advance(to: later(than: start, running: second, stepped: 40_000_000, spread: 20_000_000)) == .none)
    }

    @Test func `every change is counted once`() {
        var watch = ClockWatch(since: start)
        var now = start
        for _ in 0..<3 {
            now = later(than: now, running: second, suspended: 2 * second, stepped: -4_000_000_000)
            _ = watch.advance(to: now)
            now = later(than: now, running: second, stepped: 4_000_000_000)
            _ = watch.advance(to: now)
            now = later(than: now, running: second)
            #expect(watch.advance(to: now) == .none)
        }
        #expect(watch.suspensionCount == 3)
        #expect(watch.suspendedNanoseconds == 6 * second)
        #expect(watch.stepCount == 6)
        #expect(watch.steppedNanoseconds == 24 * second)
    }

    @Test func `impossible clock values cause no crash`() {
        var watch = ClockWatch(since: start)
        let change = watch.advance(to: ClockReadings(monotonic: start.monotonic, boottime: 0, realtime: .min, spread: .max))
        #expect(change == .none)
        _ = watch.advance(to: ClockReadings(monotonic: .max, boottime: .max, realtime: .max))
        _ = watch.advance(to: ClockReadings(monotonic: 0, boottime: .max, realtime: .min))
    }

    @Test func `the clocks of the kernel agree with each other`() {
        var watch = ClockWatch(since: .now)
        var least = UInt64.max
        for _ in 0..<10_000 {
            let now = ClockReadings.now
            least = min(least, now.spread)
            _ = watch.advance(to: now)
        }
        #expect(watch.suspensionCount == 0)
        #expect(watch.stepCount == 0)
        #expect(least <= ClockReadings.goodSpreadNanoseconds)
        #expect(ClockReadings.now.realtime > 1_577_836_800_000_000_000)  // the year 2020
    }
}
