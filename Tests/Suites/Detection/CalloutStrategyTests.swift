internal import LagActivity
import Testing

@testable import LagDetection

/// Every state with every kind of reading.
struct CalloutStrategyTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start) }

    @Test(arguments: LoopActivity.allCases)
    func `an idle loop becomes working only when it works`(activity: LoopActivity) {
        var strategy = CalloutStrategy(rule: standardRule)
        #expect(strategy.observe(BeaconReading(1, activity, at: start), at: start + 1) == .nothing)
        if activity.isWorking {
            let word = 1 << 8 | UInt64(activity.rawValue)
            #expect(strategy.state == .working(StallInterval(since: start, seen: start + 1), word: word, timeouts: 0))
        } else {
            #expect(strategy.state == .idle)
            #expect(strategy.interval == nil)
        }
    }

    @Test func `the first timeout raises suspicion, and the last one reports the stall`() {
        var strategy = CalloutStrategy(rule: standardRule)
        var findings: [RuleEvent] = []
        var suspicions: [Bool] = []
        for tick in 0...4 {
            findings.append(strategy.observe(work, at: start + UInt64(tick) * 50 * millisecond, isTick: tick > 0))
            suspicions.append(strategy.isSuspicious)
        }
        #expect(findings == [.nothing, .suspected, .nothing, .stalled, .nothing])
        #expect(suspicions == [false, true, true, true, true])
        #expect(strategy.isStalled)
        #expect(strategy.interval?.since == start)
    }

    @Test func `a stretch one nanosecond below the threshold is not a stall`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        for time: UInt64 in [50, 100, 149] { _ = strategy.observe(work, at: start + time * millisecond) }
        #expect(strategy.observe(work, at: start + 150 * millisecond - 1) == .nothing)
        #expect(!strategy.isStalled)
        #expect(strategy.nextPoll == start + 150 * millisecond)
        #expect(strategy.observe(work, at: start + 150 * millisecond) == .stalled)
    }

    @Test func `reaching the threshold counts as a timeout without a tick`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        for time: UInt64 in [50, 100] { _ = strategy.observe(work, at: start + time * millisecond) }
        #expect(strategy.observe(work, at: start + 150 * millisecond, isTick: false) == .stalled)
    }

    @Test func `a stretch that lasted for the threshold before the watchdog had a processor is a stall at once`() {
        for (length, event) in [(149, RuleEvent.nothing), (150, .stalled), (400, .stalled)] as [(UInt64, RuleEvent)] {
            var strategy = CalloutStrategy(rule: standardRule)
            #expect(strategy.observe(BeaconReading(0, .waiting), at: start - 10 * millisecond) == .nothing)
            #expect(strategy.observe(work, at: start + length * millisecond, isTick: false) == event)
        }
        // If the process could not run, it is not known how long the loop worked.
        var stopped = CalloutStrategy(rule: standardRule)
        let late = start + 400 * millisecond
        let processPause = ProcessPause(from: start - millisecond, to: late, atLeast: 1, atMost: 1)
        #expect(stopped.observe(work, at: late, processPause: processPause) == .nothing)
        // Nor if the loop may be at rest: it is examined first.
        var unexamined = CalloutStrategy(rule: standardRule)
        var first = Observation(work, at: late)
        first.mayBeAtRest = true
        #expect(unexamined.observe(first, ignoreBefore: 0) == .nothing)
        // Nor if the loop did not publish when it began.
        var silent = CalloutStrategy(rule: standardRule)
        #expect(silent.observe(BeaconReading(1, .beforeSources), at: late) == .nothing)
    }

    /// Polls that are not timeouts: fast polls, or polls after a process pause.
    @Test func `time without timeouts is not a stall`() {
        var strategy = CalloutStrategy(rule: standardRule)
        for second in 0...100 as ClosedRange<UInt64> {
            #expect(strategy.observe(work, at: start + second * 1000 * millisecond, isTick: false) == .nothing)
        }
        let interval = StallInterval(since: start, seen: start + 100_000 * millisecond)
        #expect(strategy.state == .working(interval, word: work.word, timeouts: 0))
    }

    @Test func `timeouts without elapsed time are not a stall`() {
        var strategy = CalloutStrategy(rule: standardRule)
        for _ in 0..<50 { #expect(strategy.observe(work, at: start + 1) != .stalled) }
        #expect(!strategy.isStalled)
    }

    @Test func `a poll after a process pause is not a timeout`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        let late = start + 500 * millisecond
        let processPause = ProcessPause(from: start, to: late, atLeast: millisecond, atMost: millisecond)
        #expect(strategy.observe(work, at: late, processPause: processPause) == .nothing)
        guard case .working(_, _, let timeouts) = strategy.state else {
            Issue.record("\(strategy.state)")
            return
        }
        #expect(timeouts == 0)
        for count: UInt64 in 1...2 { #expect(strategy.observe(work, at: late + count * 50 * millisecond) != .stalled) }
        #expect(strategy.observe(work, at: late + 150 * millisecond) == .stalled)
    }

    @Test func `a new stretch of work restarts the measurement`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        _ = strategy.observe(work, at: start + 50 * millisecond)
        let other = BeaconReading(2, .beforeTimers, at: start + 60 * millisecond)
        #expect(strategy.observe(other, at: start + 100 * millisecond) == .nothing)
        let interval = StallInterval(since: start + 60 * millisecond, seen: start + 100 * millisecond)
        #expect(strategy.state == .working(interval, word: other.word, timeouts: 0))
    }

    @Test func `a new stretch that a fast poll found restarts the measurement`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        _ = strategy.observe(work, at: start + 50 * millisecond)
        let other = BeaconReading(2, .beforeTimers, at: start + 60 * millisecond)
        strategy.recordProgress(to: other, at: start + 100 * millisecond, ignoreBefore: start + 70 * millisecond)
        let interval = StallInterval(since: start + 70 * millisecond, seen: start + 100 * millisecond)
        #expect(strategy.state == .working(interval, word: other.word, timeouts: 0))
    }

    @Test(arguments: [LoopActivity.waiting, .notRunning, .finished, .expected])
    func `work that ends in time is not reported`(rest: LoopActivity) {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        _ = strategy.observe(work, at: start + 50 * millisecond)
        #expect(strategy.observe(BeaconReading(2, rest), at: start + 60 * millisecond) == .nothing)
        #expect(strategy.state == .idle)
    }

    @Test(arguments: LoopActivity.allCases)
    func `a stall ends when the activity word changes`(next: LoopActivity) {
        var strategy = CalloutStrategy.stalled(work)
        let end = start + 170 * millisecond
        let reading = BeaconReading(2, next, at: end, answered: end)
        let interval = StallInterval(since: start, seen: start + 150 * millisecond).ended(at: end)
        #expect(strategy.observe(reading, at: end + 1000) == .ended(interval))
        #expect(interval.length == 170 * millisecond)
        #expect((strategy.state == .idle) == !next.isWorking)
    }

    @Test func `the same activity at another sequence number is another stretch`() {
        var strategy = CalloutStrategy.stalled(work)
        let next = BeaconReading(2, .beforeSources, at: start + 160 * millisecond)
        let interval = StallInterval(since: start, seen: start + 150 * millisecond).ended(at: start + 160 * millisecond)
        #expect(strategy.observe(next, at: start + 200 * millisecond) == .ended(interval))
    }

    @Test func `a further poll is needed only if one timeout is missing`() {
        var strategy = CalloutStrategy(rule: standardRule)
        #expect(strategy.nextPoll == nil)
        _ = strategy.observe(work, at: start, isTick: false)
        #expect(strategy.nextPoll == nil)
        _ = strategy.observe(work, at: start + 50 * millisecond)
        #expect(strategy.nextPoll == nil)
        _ = strategy.observe(work, at: start + 100 * millisecond)
        #expect(strategy.nextPoll == start + 150 * millisecond)
        _ = strategy.observe(work, at: start + 150 * millisecond)
        #expect(strategy.nextPoll == nil)
    }

    @Test func `a part that another rule has reported is no longer a stall`() {
        var strategy = CalloutStrategy.stalled(work)
        strategy.begin(notBefore: start + 160 * millisecond)
        #expect(!strategy.isStalled)
        for time: UInt64 in [200, 250, 300] {
            #expect(strategy.observe(work, at: start + time * millisecond, ignoreBefore: start + 160 * millisecond) != .stalled)
        }
        #expect(strategy.observe(work, at: start + 310 * millisecond, ignoreBefore: start + 160 * millisecond) == .stalled)
        #expect(strategy.interval?.since == start + 160 * millisecond)
    }

    @Test func `time before ignoreBefore does not count`() {
        var strategy = CalloutStrategy(rule: standardRule)
        let ignoreBefore = start + 500 * millisecond
        for tick in 0...12 as ClosedRange<UInt64> {
            #expect(
                strategy.observe(work, at: start + tick * 50 * millisecond, isTick: tick > 0, ignoreBefore: ignoreBefore)
                    != .stalled
            )
        }
        #expect(strategy.observe(work, at: ignoreBefore + 150 * millisecond, ignoreBefore: ignoreBefore) == .stalled)
        #expect(strategy.interval?.since == ignoreBefore)
    }
}
