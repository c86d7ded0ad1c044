internal import LagActivity
import Testing

@testable import LagDetection

struct FrameStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    /// Ticks of 20 ms, of which three may not be missed.
    private let rule = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 3)
    private let work = BeaconReading(1, .beforeSources, at: 1, woke: 1)
    private let idle = BeaconReading(2, .waiting, at: 1, woke: 1)

    /// A strategy that saw a tick at `start`.
    private func ticking() -> FrameStrategy {
        var strategy = FrameStrategy(rule: rule)
        _ = strategy.observe(work, at: start - 5 * millisecond)
        #expect(strategy.observe(work, at: start, ticked: start) == .nothing)
        return strategy
    }

    /// The same without a tick since, up to the threshold.
    private func stalled() -> FrameStrategy {
        var strategy = ticking()
        for time: UInt64 in [30, 60] { _ = strategy.observe(work, at: start + time * millisecond, ticked: start) }
        #expect(strategy.observe(work, at: start + 80 * millisecond, ticked: start) == .stalled)
        return strategy
    }

    @Test func `ticks on time are not a stall`() {
        var strategy = ticking()
        for tick in 1...500 as ClosedRange<UInt64> {
            let ticked = start + tick * 20 * millisecond
            #expect(strategy.observe(work, at: ticked + 10 * millisecond, ticked: ticked) == .nothing)
            #expect(strategy.interval == nil && !strategy.isSuspicious)
        }
    }

    @Test func `missing the allowed number of ticks in a row is a stall`() {
        var strategy = ticking()
        #expect(strategy.thresholdNanoseconds == 60 * millisecond)
        #expect(strategy.nextPoll == start + 60 * millisecond)
        #expect(strategy.observe(work, at: start + 21 * millisecond, ticked: start) == .nothing)
        // Since the first missed tick.
        #expect(strategy.interval?.since == start + 20 * millisecond && strategy.interval?.earliest == start)
        #expect(strategy.nextPoll == start + 80 * millisecond)
        #expect(strategy.observe(work, at: start + 80 * millisecond - 1, ticked: start) == .nothing)
        #expect(strategy.isSuspicious)
        #expect(strategy.observe(work, at: start + 80 * millisecond, ticked: start) == .stalled)
        #expect(strategy.observe(work, at: start + 90 * millisecond, ticked: start) == .nothing)
        #expect(strategy.nextPoll == start + 110 * millisecond)
    }

    @Test func `a tick in between restarts the measurement`() {
        var strategy = ticking()
        _ = strategy.observe(work, at: start + 75 * millisecond, ticked: start)
        let late = start + 76 * millisecond
        #expect(strategy.observe(work, at: start + 85 * millisecond, ticked: late) == .nothing)
        #expect(strategy.interval == nil)
        #expect(strategy.observe(work, at: late + 79 * millisecond, ticked: late) == .nothing)
        #expect(strategy.observe(work, at: late + 80 * millisecond, ticked: late) == .stalled)
    }

    @Test func `a frame stall ends with the next tick`() {
        var strategy = stalled()
        _ = strategy.observe(work, at: start + 100 * millisecond, ticked: start)
        let ticked = start + 115 * millisecond
        guard case .ended(let interval) = strategy.observe(work, at: start + 120 * millisecond, ticked: ticked) else {
            Issue.record("no end")
            return
        }
        #expect(interval.since == start + 20 * millisecond && interval.until == start + 100 * millisecond)
        #expect(interval.lengthAtLeast == 80 * millisecond)
        // From the last tick to the next.
        #expect(interval.lengthAtMost == 115 * millisecond)
        #expect(!strategy.isStalled && strategy.interval == nil)
    }

    @Test func `a loop at rest must tick too`() {
        var strategy = ticking()
        _ = strategy.observe(idle, at: start + 30 * millisecond, ticked: start)
        #expect(strategy.observe(idle, at: start + 80 * millisecond, ticked: start) == .stalled)
    }

    @Test func `the first tick is due one period after the loop was first seen`() {
        var strategy = FrameStrategy(rule: rule)
        #expect(strategy.nextPoll == nil)
        #expect(strategy.observe(work, at: start) == .nothing)
        #expect(strategy.nextPoll == start + 60 * millisecond)
        #expect(strategy.observe(work, at: start + 60 * millisecond) == .nothing)
        #expect(strategy.observe(work, at: start + 80 * millisecond) == .stalled)
    }

    @Test(arguments: [LoopActivity.notRunning, .finished, .expected])
    func `a loop that does not run misses no ticks`(activity: LoopActivity) {
        let gone = BeaconReading(3, activity)
        var strategy = ticking()
        _ = strategy.observe(work, at: start + 70 * millisecond, ticked: start)
        #expect(strategy.observe(gone, at: start + 75 * millisecond, ticked: start) == .nothing)
        #expect(strategy.interval == nil && strategy.nextPoll == nil)
        _ = strategy.observe(gone, at: start + 500 * millisecond, ticked: start)
        // Long after the last poll it runs again, and has a period's time as at the beginning.
        let back = start + 560 * millisecond
        #expect(strategy.observe(work, at: back, ticked: start) == .nothing)
        #expect(strategy.observe(work, at: back + 79 * millisecond, ticked: start) == .nothing)
        #expect(strategy.observe(work, at: back + 80 * millisecond, ticked: start) == .stalled)
        #expect(strategy.interval?.since == back + 20 * millisecond)

        var late = stalled()
        guard case .ended(let interval) = late.observe(gone, at: start + 95 * millisecond, ticked: start) else {
            Issue.record("no end")
            return
        }
        #expect(interval.lengthAtLeast == 60 * millisecond && interval.lengthAtMost == 95 * millisecond)
    }

    @Test func `a process pause delays a frame stall by its length`() {
        var strategy = ticking()
        let (stopped, resumed) = (start + 30 * millisecond, start + 2030 * millisecond)
        _ = strategy.observe(work, at: stopped, ticked: start)
        #expect(
            strategy.observe(work, at: resumed, processPause: ProcessPause(from: stopped, to: resumed), ticked: start) == .nothing
        )
        #expect(strategy.observe(work, at: resumed + 49 * millisecond, ticked: start) == .nothing)
        #expect(strategy.observe(work, at: resumed + 50 * millisecond, ticked: start) == .stalled)
    }

    @Test func `time before ignoreBefore does not count`() {
        var strategy = FrameStrategy(rule: rule)
        let ignoreBefore = start + 500 * millisecond
        for time in stride(from: UInt64(0), through: 570, by: 10) {
            #expect(strategy.observe(work, at: start + time * millisecond, ignoreBefore: ignoreBefore) == .nothing)
        }
        #expect(strategy.observe(work, at: ignoreBefore + 80 * millisecond, ignoreBefore: ignoreBefore) == .stalled)

        var late = stalled()
        late.begin(notBefore: start + 90 * millisecond)
        #expect(!late.isStalled)
        #expect(late.observe(work, at: start + 149 * millisecond, ticked: start) == .nothing)
        #expect(late.observe(work, at: start + 150 * millisecond, ticked: start) == .stalled)
    }
}
