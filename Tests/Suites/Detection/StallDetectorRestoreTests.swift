internal import LagActivity
internal import LagModel
import Testing

@testable import LagDetection

/// After a reported stall: further ones are counted, not reported, for a while.
struct StallDetectorRestoreTests {
    private let rules = WatchRules.callouts(hang: 400 * millisecond, restore: 5000 * millisecond)
    private let start: UInt64 = 1000 * millisecond

    /// A detector whose first stall ended at the returned time.
    private func afterAStall(_ rules: WatchRules? = nil) -> (StallDetector, ended: UInt64) {
        var detector = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start), rules: rules ?? self.rules)
        let end = start + 200 * millisecond
        _ = detector.observe(BeaconReading(2, .waiting, at: end, answered: end), at: end, isTick: false)
        return (detector, end)
    }

    /// Lets the loop work from `begin` on; the detector's events at each poll, 50 ms apart.
    private func work(_ detector: inout StallDetector, sequence: UInt64, from begin: UInt64, ticks: UInt64) -> [DetectorEvents] {
        let reading = BeaconReading(sequence, .beforeSources, at: begin)
        return (0...ticks).map { detector.observe(reading, at: begin + $0 * 50 * millisecond, isTick: $0 > 0) }
    }

    private let nothing = DetectorEvents()

    @Test func `a stall in the restore interval is counted at its end`() {
        var (detector, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        let observed = work(&detector, sequence: 3, from: begin, ticks: 6)
        #expect(observed == [nothing, [.suspected]] + Array(repeating: nothing, count: 5))
        #expect(!detector.isStalled)
        #expect(detector.activeStall?.isMuted == true)
        #expect(detector.observe(BeaconReading(4, .waiting), at: begin + 310 * millisecond) == [.suppressed])
        #expect(detector.activeStall == nil)
    }

    @Test func `suppressed stalls do not prolong the restore interval`() {
        var (detector, ended) = afterAStall()
        _ = work(&detector, sequence: 3, from: ended + 4000 * millisecond, ticks: 4)
        #expect(detector.observe(BeaconReading(4, .waiting), at: ended + 4300 * millisecond).isSuppressed)
        let begin = ended + 5000 * millisecond - 150 * millisecond
        #expect(work(&detector, sequence: 5, from: begin, ticks: 3).last?.opened == .callout)
        #expect(detector.interval(of: .callout)?.since == begin)
    }

    @Test func `a stall is muted until one nanosecond before the restore interval ends`() {
        var (detector, ended) = afterAStall()
        let begin = ended + 5000 * millisecond - 150 * millisecond - 1
        #expect(work(&detector, sequence: 3, from: begin, ticks: 3).last == nothing)
        #expect(!detector.isStalled)
        // The moment at which it would have to be reported.
        #expect(detector.nextPoll == ended + 5000 * millisecond)
    }

    @Test func `a hang is reported even in the restore interval`() {
        var (detector, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        let observed = work(&detector, sequence: 3, from: begin, ticks: 9)
        #expect(observed[7] == nothing && observed[8].all.count == 1 && observed[8].opened == .callout)
        #expect(observed[9].hanging?.interval.since == begin)
    }

    @Test func `a stall that outlasts the restore interval is reported`() {
        var (detector, ended) = afterAStall(.callouts(hang: 600 * millisecond, restore: 5000 * millisecond))
        let begin = ended + 4500 * millisecond
        let observed = work(&detector, sequence: 3, from: begin, ticks: 12)
        #expect(observed[9] == nothing)
        #expect(observed[10].all.count == 1 && observed[10].opened == .callout)
        #expect(detector.interval(of: .callout)?.since == begin)
        #expect(observed[11] == nothing)
        #expect(observed[12].hanging?.interval.since == begin)
        #expect(observed[12].opened == nil)
    }

    @Test func `a muted stall at the end of the watch is counted`() {
        var (detector, ended) = afterAStall()
        _ = work(&detector, sequence: 3, from: ended + 1000 * millisecond, ticks: 4)
        #expect(detector.finish(at: ended + 1300 * millisecond) == .suppressed)
    }

    @Test func `a muted stall right before other work is counted once`() {
        var (detector, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        _ = work(&detector, sequence: 3, from: begin, ticks: 4)
        let next = BeaconReading(4, .beforeTimers, at: begin + 205 * millisecond)
        #expect(detector.observe(next, at: begin + 250 * millisecond) == [.suppressed])
        #expect(detector.observe(BeaconReading(5, .waiting), at: begin + 260 * millisecond) == nothing)
    }

    @Test func `a clock that went back does not silence the loop`() {
        var far = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start), rules: rules)
        _ = far.observe(BeaconReading(2, .waiting), at: start + 1_000_000 * millisecond, isTick: false)
        let begin = start + 2000 * millisecond
        #expect(work(&far, sequence: 3, from: begin, ticks: 3).last?.opened == .callout)
        #expect(far.interval(of: .callout)?.since == begin)
    }

    @Test func `without a restore interval every stall is reported`() {
        var detector = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start))
        let end = start + 200 * millisecond
        _ = detector.observe(BeaconReading(2, .waiting, answered: end), at: end, isTick: false)
        #expect(work(&detector, sequence: 3, from: end + 1, ticks: 3).last?.opened == .callout)
        #expect(detector.interval(of: .callout)?.since == end + 1)
    }

    @Test func `the restore interval continues after a pause`() {
        var (detector, ended) = afterAStall()
        #expect(detector.finish(at: ended + 10 * millisecond, ignoreBefore: ended + 20 * millisecond) == nil)
        #expect(work(&detector, sequence: 3, from: ended + 1000 * millisecond, ticks: 3).last == nothing)
        #expect(detector.activeStall?.isMuted == true)
    }

    @Test func `a stall of another rule in the restore interval is muted too`() {
        var rules = rules
        rules.starvationNanoseconds = 300 * millisecond
        rules.hangNanoseconds = 1000 * millisecond
        var detector = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start, woke: start), rules: rules)
        let end = start + 200 * millisecond
        #expect(detector.observe(BeaconReading(2, .waiting, answered: end), at: end).ended != nil)
        let woke = end + 100 * millisecond
        var sequence: UInt64 = 3
        for time in stride(from: woke, through: woke + 400 * millisecond, by: Int(50 * millisecond)) {
            #expect(detector.observe(BeaconReading(sequence, .beforeTimers, at: time, woke: woke), at: time) == nothing)
            sequence += 1
        }
        #expect(detector.activeStall?.lead == .starvation && detector.activeStall?.isMuted == true)
        let rest = woke + 420 * millisecond
        let after = detector.observe(BeaconReading(sequence, .waiting, answered: rest, woke: woke), at: rest)
        #expect(after == [.suppressed])
    }
}
