internal import LagActivity
import Testing

@testable import LagDetection

struct StarvationStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    private let threshold = 400 * millisecond

    private func work(_ sequence: UInt64, at time: UInt64, woke: UInt64? = nil, answered: UInt64 = 0) -> BeaconReading {
        BeaconReading(sequence, .beforeSources, at: time, answered: answered, woke: woke ?? start)
    }

    /// A strategy that has just found a starvation that began at `start`, last seen at its threshold.
    private func starved() -> StarvationStrategy {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        for step in 0...8 as ClosedRange<UInt64> {
            let now = start + step * 50 * millisecond
            let event = strategy.observe(work(step + 1, at: now), at: now)
            #expect(event == (step == 8 ? .stalled : .nothing))
        }
        return strategy
    }

    @Test func `starvation is found at the threshold, whatever the number of callouts`() {
        let strategy = starved()
        #expect(strategy.isStalled && strategy.isSuspicious)
        #expect(strategy.interval == StallInterval(since: start, seen: start + threshold))
        #expect(strategy.nextPoll == nil)
    }

    @Test func `a stretch one nanosecond below the threshold is not starvation`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        _ = strategy.observe(work(1, at: start), at: start)
        #expect(strategy.nextPoll == start + threshold)
        #expect(strategy.observe(work(2, at: start), at: start + threshold - 1) == .nothing)
        #expect(!strategy.isStalled && !strategy.isSuspicious)
        #expect(strategy.observe(work(3, at: start), at: start + threshold) == .stalled)
    }

    @Test func `the shortest rest restarts the measurement`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        _ = strategy.observe(work(1, at: start), at: start)
        let woke = start + 300 * millisecond
        #expect(strategy.observe(work(2, at: woke, woke: woke), at: start + threshold) == .nothing)
        #expect(strategy.interval?.since == woke)
        #expect(strategy.observe(work(3, at: woke, woke: woke), at: woke + threshold) == .stalled)
    }

    @Test(arguments: [LoopActivity.waiting, .notRunning, .finished, .expected])
    func `starvation ends with the rest, at the time of the answer`(rest: LoopActivity) {
        var strategy = starved()
        let end = start + 420 * millisecond
        let reading = BeaconReading(20, rest, answered: end, woke: start)
        let interval = StallInterval(since: start, seen: start + threshold).ended(at: end)
        // Between two runs, it may last only a moment.
        if rest == .notRunning { #expect(strategy.observe(reading, at: end + 4 * millisecond) == .nothing) }
        #expect(strategy.observe(reading, at: end + 5 * millisecond) == .ended(interval))
        #expect(strategy.interval == nil && !strategy.isStalled)
    }

    /// A loop that is run for one source at a time, seen between two runs.
    @Test func `a moment between two runs does not end starvation`() {
        var strategy = starved()
        let between = BeaconReading(20, .notRunning, answered: start + 420 * millisecond, woke: start)
        #expect(strategy.observe(between, at: start + 420 * millisecond) == .nothing)
        let running = BeaconReading(21, .entry, at: start + 421 * millisecond, woke: start)
        #expect(strategy.observe(running, at: start + 450 * millisecond) == .nothing)
        #expect(strategy.isStalled && strategy.interval?.since == start)
    }

    @Test func `a rest that is already over ends starvation`() {
        var strategy = starved()
        let woke = start + 440 * millisecond
        guard case .ended(let interval) = strategy.observe(work(20, at: woke, woke: woke), at: start + 450 * millisecond) else {
            Issue.record("no end")
            return
        }
        #expect(interval.until == woke)
        #expect(strategy.interval?.since == woke)
    }

    @Test func `an answer from before the last poll is ignored`() {
        var strategy = starved()
        let now = start + 450 * millisecond
        let reading = BeaconReading(20, .waiting, answered: start + 300 * millisecond, woke: start)
        guard case .ended(let interval) = strategy.observe(reading, at: now) else {
            Issue.record("no end")
            return
        }
        #expect(interval.until == now)
    }

    @Test func `a loop that publishes no wakes is not evaluated`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        for step in 0...100 as ClosedRange<UInt64> {
            let now = start + step * 50 * millisecond
            #expect(strategy.observe(work(step + 1, at: now, woke: 0), at: now) == .nothing)
        }
        #expect(strategy.interval == nil && strategy.nextPoll == nil)
    }

    @Test func `a wake in the future does not count`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        #expect(strategy.observe(work(1, at: start, woke: start + 1), at: start) == .nothing)
        #expect(strategy.interval == nil)
    }

    @Test func `a process pause delays starvation by its length`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        _ = strategy.observe(work(1, at: start), at: start)
        let resumed = start + 5000 * millisecond
        let processPause = ProcessPause(from: start + 100 * millisecond, to: resumed)
        #expect(strategy.observe(work(2, at: resumed), at: resumed, processPause: processPause) == .nothing)
        #expect(strategy.nextPoll == resumed + 300 * millisecond)
        #expect(strategy.observe(work(3, at: resumed), at: resumed + 300 * millisecond) == .stalled)
    }

    @Test func `a process pause does not count in a stretch that is first seen after it`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        let resumed = start + 5000 * millisecond
        let processPause = ProcessPause(from: start + 100 * millisecond, to: resumed)
        #expect(strategy.observe(work(2, at: resumed), at: resumed, processPause: processPause) == .nothing)
        #expect(strategy.nextPoll == resumed + 300 * millisecond)
    }

    @Test func `time before ignoreBefore does not count`() {
        var strategy = StarvationStrategy(thresholdNanoseconds: threshold)
        let ignoreBefore = start + 1000 * millisecond
        for time: UInt64 in [0, 500, 1000, 1399] {
            #expect(
                strategy.observe(work(time + 1, at: start), at: start + time * millisecond, ignoreBefore: ignoreBefore)
                    == .nothing
            )
        }
        #expect(strategy.observe(work(9, at: start), at: ignoreBefore + threshold, ignoreBefore: ignoreBefore) == .stalled)
        #expect(strategy.interval?.since == ignoreBefore)
    }

    @Test func `after the report of another rule the measurement restarts`() {
        var strategy = starved()
        strategy.begin(notBefore: start + 410 * millisecond)
        #expect(!strategy.isStalled)
        #expect(strategy.observe(work(20, at: start), at: start + 809 * millisecond) == .nothing)
        #expect(strategy.observe(work(21, at: start), at: start + 810 * millisecond) == .stalled)
        #expect(strategy.interval?.since == start + 410 * millisecond)
    }
}
