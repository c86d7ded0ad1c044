import LagActivity
import Testing

@testable import LagDetection

/// Where a stretch begins and ends, and time going wrong.
struct StallDetectorTimeTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start) }

    private func end(_ callout: UInt64, _ answered: UInt64, now: UInt64) -> UInt64? {
        var detector = StallDetector.stalled(work)  // last seen at 150 ms
        let next = BeaconReading(2, .beforeTimers, at: callout, answered: answered)
        guard case .ended(_, let until, _) = detector.look(next, at: now, counts: true) else { return nil }
        return until
    }

    @Test func theAnswerIsTheEnd() {
        #expect(end(0, start + 170 * millisecond, now: start + 200 * millisecond) == start + 170 * millisecond)
    }

    @Test func withoutAnAnswerTheNextStretchIsTheEnd() {
        #expect(end(start + 180 * millisecond, 0, now: start + 200 * millisecond) == start + 180 * millisecond)
    }

    @Test func theEarlierOfBothIsTheEnd() {
        let now = start + 200 * millisecond
        #expect(end(start + 180 * millisecond, start + 170 * millisecond, now: now) == start + 170 * millisecond)
        #expect(end(start + 160 * millisecond, start + 170 * millisecond, now: now) == start + 160 * millisecond)
    }

    @Test func withoutEitherNowIsTheEnd() {
        #expect(end(0, 0, now: start + 200 * millisecond) == start + 200 * millisecond)
    }

    @Test func anAnswerFromBeforeTheLastLookIsAnOldOne() {
        // A loop that answers on waking does so a moment after its first stretch has begun.
        #expect(end(0, start + 1000, now: start + 200 * millisecond) == start + 200 * millisecond)
    }

    @Test func timesInTheFutureAreNone() {
        let now = start + 200 * millisecond
        #expect(end(now + 1, now + 1, now: now) == now)
    }

    @Test func anEndBeforeTheStartHasNoLength() {
        #expect(end(0, 0, now: start - millisecond) == start)
    }

    @Test func aLoopThatTellsNoTimeBeginsWhenItIsFirstSeen() {
        var detector = StallDetector(rule: standardRule)
        let silent = BeaconReading(1, .beforeSources)
        _ = detector.look(silent, at: start + 7, counts: true)
        for tick: UInt64 in 1...3 { _ = detector.look(silent, at: start + 7 + tick * 50 * millisecond, counts: true) }
        #expect(detector.finish() == .stalled(since: start + 7, word: silent.word))
    }

    @Test func aStretchThatBeginsInTheFutureBeginsNow() {
        var detector = StallDetector(rule: standardRule)
        let reading = BeaconReading(1, .beforeSources, at: start + 3_600_000 * millisecond)
        _ = detector.look(reading, at: start, counts: true)
        #expect(detector.state == .working(Stretch(word: reading.word, since: start, seen: start), timeouts: 0))
    }

    @Test func aClockThatGoesBackMakesNoStall() {
        var detector = StallDetector(rule: standardRule)
        _ = detector.look(work, at: start, counts: false)
        for back: UInt64 in 1...100 { #expect(detector.look(work, at: start - back, counts: true) != .stalled(since: start)) }
        #expect(!detector.isStalled)
    }

    @Test func aJumpAheadThatDoesNotCountMakesNoStall() {
        var detector = StallDetector(rule: standardRule)
        _ = detector.look(work, at: start, counts: false)
        _ = detector.look(work, at: start + 50 * millisecond, counts: true)
        _ = detector.look(work, at: start + 100 * millisecond, counts: true)
        let wait = 10_000 * millisecond
        let resumed = start + 100 * millisecond + wait
        #expect(detector.look(work, at: resumed, counts: false, lost: wait) == .nothing)
        // 49 ms after it, the loop has worked 149 ms in all.
        #expect(detector.look(work, at: resumed + 49 * millisecond, counts: true) == .nothing)
        #expect(detector.nextLook == resumed + 50 * millisecond)
        #expect(detector.look(work, at: resumed + 50 * millisecond, counts: true) == .stalled(since: start))
    }

    @Test func aStretchFirstSeenAfterALateWaitIsNotChargedForIt() {
        var detector = StallDetector(rule: standardRule)
        let late = start + 10_000 * millisecond
        _ = detector.look(work, at: late, counts: false, lost: 9990 * millisecond)
        for time: UInt64 in [50, 100, 139] { _ = detector.look(work, at: late + time * millisecond, counts: true) }
        #expect(!detector.isStalled)
        #expect(detector.look(work, at: late + 140 * millisecond, counts: true) == .stalled(since: start))
    }

    @Test func lostTimeDoesNotMakeAHang() {
        let rule = DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 3, hangNanoseconds: 1000 * millisecond)
        var detector = StallDetector.stalled(work, rule: rule)
        let resumed = start + 10_150 * millisecond
        #expect(detector.look(work, at: resumed, counts: false, lost: 10_000 * millisecond) == .nothing)
        #expect(detector.nextLook == start + 11_000 * millisecond)
        #expect(detector.look(work, at: start + 11_000 * millisecond, counts: true) == .hanging)
    }

    @Test(arguments: [.max, .max - 1, .max - 150 * millisecond, .max - 151 * millisecond] as [UInt64])
    func theEndOfTimeTrapsNowhere(start: UInt64) {
        let rule = DetectionRule(
            intervalNanoseconds: 50 * millisecond,
            timeouts: 3,
            restoreNanoseconds: .max,
            hangNanoseconds: .max
        )
        var detector = StallDetector(rule: rule)
        let work = BeaconReading(1, .beforeSources, at: start)
        for now in [start, UInt64.max, 0, start, .max] {
            for counts in [true, false] {
                _ = detector.look(work, at: now, counts: counts, lost: counts ? 0 : .max)
                _ = detector.nextLook
                _ = rule.nextTick(after: now)
            }
        }
        _ = detector.look(BeaconReading(2, .waiting, at: .max, answered: .max), at: .max, counts: true)
        _ = detector.look(BeaconReading(3, .entry, at: .max), at: .max, counts: true, lost: .max)
        _ = detector.finish()
    }
}
