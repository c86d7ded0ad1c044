internal import LagActivity
internal import LagModel
import Testing

@testable import LagDetection

/// Where a stretch begins and ends, and invalid times.
struct CalloutStrategyTimeTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start) }

    private func end(_ callout: UInt64, _ answered: UInt64, now: UInt64) -> UInt64? {
        var strategy = CalloutStrategy.stalled(work)  // last seen at 150 ms
        let next = BeaconReading(2, .beforeTimers, at: callout, answered: answered)
        guard case .ended(let interval) = strategy.observe(next, at: now) else { return nil }
        return interval.until
    }

    @Test func `a stall ends at the time of the answer`() {
        #expect(end(0, start + 170 * millisecond, now: start + 200 * millisecond) == start + 170 * millisecond)
    }

    @Test func `without an answer a stall ends where the next stretch begins`() {
        #expect(end(start + 180 * millisecond, 0, now: start + 200 * millisecond) == start + 180 * millisecond)
    }

    @Test func `a stall ends at the earlier of the answer and the next stretch`() {
        let now = start + 200 * millisecond
        #expect(end(start + 180 * millisecond, start + 170 * millisecond, now: now) == start + 170 * millisecond)
        #expect(end(start + 160 * millisecond, start + 170 * millisecond, now: now) == start + 160 * millisecond)
    }

    @Test func `without an answer and a next stretch a stall ends now`() {
        #expect(end(0, 0, now: start + 200 * millisecond) == start + 200 * millisecond)
    }

    @Test func `an answer from before the last poll is ignored`() {
        // A loop that answers on waking does so shortly after its first stretch has begun.
        #expect(end(0, start + 1000, now: start + 200 * millisecond) == start + 200 * millisecond)
    }

    @Test func `times in the future do not count`() {
        let now = start + 200 * millisecond
        #expect(end(now + 1, now + 1, now: now) == now)
    }

    @Test func `a stall whose end is before its start has no length`() {
        #expect(end(0, 0, now: start - millisecond) == start)
    }

    @Test func `a stretch without a published time begins when it is first seen`() {
        var strategy = CalloutStrategy(rule: standardRule)
        let silent = BeaconReading(1, .beforeSources)
        _ = strategy.observe(silent, at: start + 7)
        for tick: UInt64 in 1...3 { _ = strategy.observe(silent, at: start + 7 + tick * 50 * millisecond) }
        #expect(strategy.isStalled && strategy.interval?.since == start + 7)
    }

    @Test func `a stretch that begins in the future is taken to begin now`() {
        var strategy = CalloutStrategy(rule: standardRule)
        let reading = BeaconReading(1, .beforeSources, at: start + 3_600_000 * millisecond)
        _ = strategy.observe(reading, at: start)
        #expect(strategy.state == .working(StallInterval(since: start, seen: start), word: reading.word, timeouts: 0))
    }

    @Test func `a clock that goes back causes no stall`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        for back: UInt64 in 1...100 { #expect(strategy.observe(work, at: start - back) != .stalled) }
        #expect(!strategy.isStalled)
    }

    @Test func `a process pause delays the stall by its length`() {
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(work, at: start, isTick: false)
        _ = strategy.observe(work, at: start + 50 * millisecond)
        _ = strategy.observe(work, at: start + 100 * millisecond)
        let stopped = start + 100 * millisecond
        let resumed = stopped + 10_000 * millisecond
        #expect(strategy.observe(work, at: resumed, processPause: ProcessPause(from: stopped, to: resumed)) == .nothing)
        // 49 ms after the pause, the loop has worked for 149 ms in total.
        #expect(strategy.observe(work, at: resumed + 49 * millisecond) == .nothing)
        #expect(strategy.nextPoll == resumed + 50 * millisecond)
        #expect(strategy.observe(work, at: resumed + 50 * millisecond) == .stalled)
        #expect(strategy.interval?.since == start)
    }

    @Test func `a process pause does not count in a stretch that is first seen after it`() {
        var strategy = CalloutStrategy(rule: standardRule)
        let late = start + 10_000 * millisecond
        let processPause = ProcessPause(from: start + 10 * millisecond, to: late)
        _ = strategy.observe(work, at: late, processPause: processPause)
        for time: UInt64 in [50, 100, 139] { _ = strategy.observe(work, at: late + time * millisecond) }
        #expect(!strategy.isStalled)
        #expect(strategy.observe(work, at: late + 140 * millisecond) == .stalled)
    }

    @Test func `a process pause that is found at the end of a stall is subtracted`() {
        var strategy = CalloutStrategy.stalled(work)
        let resumed = start + 10_000 * millisecond
        let processPause = ProcessPause(
            from: start + 160 * millisecond,
            to: resumed,
            atLeast: 9800 * millisecond,
            atMost: 9840 * millisecond
        )
        let next = BeaconReading(2, .waiting, at: start, answered: resumed - 10 * millisecond)
        guard case .ended(let interval) = strategy.observe(next, at: resumed, processPause: processPause) else {
            Issue.record("no end")
            return
        }
        // Ten milliseconds of the window are after the end: at least 9790 ms before it, at most the whole window.
        #expect(interval.until == resumed - 10 * millisecond)
        #expect(interval.lengthAtLeast == 160 * millisecond)
        #expect(interval.lengthAtMost == 200 * millisecond)
        #expect(interval.length == 180 * millisecond)
        #expect(interval.excluded == 9810 * millisecond)
    }

    @Test(arguments: [.max, .max - 1, .max - 150 * millisecond, .max - 151 * millisecond] as [UInt64])
    func `times near the maximum cause no trap`(start: UInt64) {
        let rules = WatchRules.callouts(hang: .max, restore: .max)
        var detector = StallDetector(rules: rules)
        let work = BeaconReading(1, .beforeSources, at: start)
        for now in [start, UInt64.max, 0, start, .max] {
            for isTick in [true, false] {
                let processPause = isTick ? nil : ProcessPause(from: 0, to: .max, atLeast: .max, atMost: .max)
                _ = detector.observe(work, at: now, isTick: isTick, processPause: processPause)
                _ = detector.nextPoll
                _ = detector.isSuspicious
                _ = now.nextTick(ofInterval: rules.tickNanoseconds)
            }
        }
        _ = detector.observe(BeaconReading(2, .waiting, at: .max, answered: .max), at: .max)
        let processPause = ProcessPause(from: .max, to: 0, atLeast: .max, atMost: .max)
        _ = detector.observe(BeaconReading(3, .entry, at: .max), at: .max, processPause: processPause)
        _ = detector.finish(at: .max)
    }

    // MARK: Sampled loops

    /// Working from 1000 ms on, or from some time between the bounds.
    private func sampled(word: UInt64, began: TimeBounds, ended: TimeBounds? = nil) -> SampledStretches {
        var stretches = SampledStretches()
        stretches.begin(word: word, at: began)
        if let ended { stretches.end(at: ended) }
        return stretches
    }

    @Test func `both ends of a sampled stretch are in the bounds`() throws {
        let began = TimeBounds(start - 10 * millisecond, likely: start, start + 5 * millisecond)
        var reading = work
        reading.sampled = sampled(word: reading.word, began: began)
        var strategy = CalloutStrategy(rule: standardRule)
        for tick: UInt64 in 0...3 { _ = strategy.observe(reading, at: start + tick * 50 * millisecond) }
        #expect(strategy.isStalled)
        let ended = TimeBounds(start + 170 * millisecond, likely: start + 175 * millisecond, start + 180 * millisecond)
        var next = BeaconReading(2, .waiting, at: start, answered: start + 190 * millisecond)
        next.sampled = sampled(word: reading.word, began: began, ended: ended)
        guard case .ended(let interval) = strategy.observe(next, at: start + 200 * millisecond) else {
            Issue.record("not ended")
            return
        }
        #expect(interval.since == start && interval.length == 175 * millisecond)
        #expect(interval.lengthAtLeast == 165 * millisecond && interval.lengthAtMost == 190 * millisecond)
    }

    @Test func `a later reading refines the beginning of a stretch`() {
        var reading = work
        let earliest = start - 40 * millisecond
        reading.sampled = sampled(word: reading.word, began: TimeBounds(earliest, likely: start, start))
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(reading, at: start)
        #expect(strategy.interval?.latestBegin == start && strategy.interval?.likely == start)
        let began = TimeBounds(earliest, likely: start, start + 8 * millisecond)
        reading.sampled?.refine(began, mayHaveBegun: start - 30 * millisecond, gap: 0)
        _ = strategy.observe(reading, at: start + 50 * millisecond)
        #expect(strategy.interval?.latestBegin == start + 8 * millisecond && strategy.interval?.since == start)
        #expect(strategy.interval?.likely == start - 30 * millisecond)
    }

    @Test func `bounds of another stretch do not count`() {
        var reading = work
        reading.sampled = sampled(word: reading.word &+ 256, began: TimeBounds(0, likely: start, start + 9 * millisecond))
        var strategy = CalloutStrategy(rule: standardRule)
        _ = strategy.observe(reading, at: start)
        #expect(strategy.interval?.earliest == start && strategy.interval?.latestBegin == start)
    }
}
