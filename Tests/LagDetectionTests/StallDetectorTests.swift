import LagActivity
import Testing

@testable import LagDetection

/// Every state against every kind of reading.
struct StallDetectorTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start) }

    @Test(arguments: LoopActivity.allCases)
    func idleBecomesWorkingOnlyAtWork(activity: LoopActivity) {
        var detector = StallDetector(rule: standardRule)
        #expect(detector.look(BeaconReading(1, activity, at: start), at: start + 1, counts: true) == .nothing)
        if activity.isWorking {
            let word = 1 << 8 | UInt64(activity.rawValue)
            #expect(detector.state == .working(Stretch(word: word, since: start, seen: start + 1), timeouts: 0))
        } else {
            #expect(detector.state == .idle)
        }
    }

    @Test func firstTimeoutSuspectsAndTheLastOneFindsTheStall() {
        var detector = StallDetector(rule: standardRule)
        var verdicts: [StallDetector.Verdict] = []
        for tick in 0...4 {
            verdicts.append(detector.look(work, at: start + UInt64(tick) * 50 * millisecond, counts: tick > 0))
        }
        #expect(verdicts == [.nothing, .suspected, .nothing, .stalled(since: start), .nothing])
        #expect(detector.isStalled)
    }

    @Test func oneNanosecondBelowTheThresholdIsNoStall() {
        var detector = StallDetector(rule: standardRule)
        _ = detector.look(work, at: start, counts: false)
        for time: UInt64 in [50, 100, 149] { _ = detector.look(work, at: start + time * millisecond, counts: true) }
        #expect(detector.look(work, at: start + 150 * millisecond - 1, counts: true) == .nothing)
        #expect(!detector.isStalled)
        #expect(detector.nextLook == start + 150 * millisecond)
        #expect(detector.look(work, at: start + 150 * millisecond, counts: true) == .stalled(since: start))
    }

    @Test func timeWithoutTimeoutsIsNoStall() {
        var detector = StallDetector(rule: standardRule)
        for second in 0...100 {
            #expect(detector.look(work, at: start + UInt64(second) * 1000 * millisecond, counts: false) == .nothing)
        }
        #expect(
            detector.state == .working(Stretch(word: work.word, since: start, seen: start + 100_000 * millisecond), timeouts: 0)
        )
    }

    @Test func timeoutsWithoutTimeAreNoStall() {
        var detector = StallDetector(rule: standardRule)
        for _ in 0..<50 { #expect(detector.look(work, at: start + 1, counts: true) != .stalled(since: start)) }
        #expect(!detector.isStalled)
    }

    @Test func otherWorkBeginsAnew() {
        var detector = StallDetector(rule: standardRule)
        _ = detector.look(work, at: start, counts: false)
        _ = detector.look(work, at: start + 50 * millisecond, counts: true)
        let other = BeaconReading(2, .beforeTimers, at: start + 60 * millisecond)
        #expect(detector.look(other, at: start + 100 * millisecond, counts: true) == .nothing)
        let stretch = Stretch(word: other.word, since: start + 60 * millisecond, seen: start + 100 * millisecond)
        #expect(detector.state == .working(stretch, timeouts: 0))
    }

    @Test(arguments: [LoopActivity.waiting, .notRunning, .finished])
    func workThatEndsInTimeSaysNothing(rest: LoopActivity) {
        var detector = StallDetector(rule: standardRule)
        _ = detector.look(work, at: start, counts: false)
        _ = detector.look(work, at: start + 50 * millisecond, counts: true)
        #expect(detector.look(BeaconReading(2, rest), at: start + 60 * millisecond, counts: true) == .nothing)
        #expect(detector.state == .idle)
    }

    @Test(arguments: LoopActivity.allCases)
    func aStallEndsWithTheNextWord(next: LoopActivity) {
        var detector = StallDetector.stalled(work)
        let end = start + 170 * millisecond
        let reading = BeaconReading(2, next, at: end, answered: end)
        let ended = StallDetector.Verdict.ended(since: start, until: end, word: work.word)
        #expect(detector.look(reading, at: end + 1000, counts: true) == ended)
        #expect((detector.state == .idle) == !next.isWorking)
    }

    @Test func theSameActivityAtAnotherSequenceIsAnotherStretch() {
        var detector = StallDetector.stalled(work)
        let next = BeaconReading(2, .beforeSources, at: start + 160 * millisecond)
        let ended = StallDetector.Verdict.ended(since: start, until: start + 160 * millisecond, word: work.word)
        #expect(detector.look(next, at: start + 200 * millisecond, counts: true) == ended)
    }

    @Test func aHangIsToldOnceAndAtItsTime() {
        let rule = DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 3, hangNanoseconds: 400 * millisecond)
        var detector = StallDetector.stalled(work, rule: rule)
        #expect(detector.nextLook == start + 400 * millisecond)
        #expect(detector.look(work, at: start + 400 * millisecond - 1, counts: true) == .nothing)
        #expect(detector.look(work, at: start + 400 * millisecond, counts: false) == .hanging)
        #expect(detector.nextLook == nil)
        for time: UInt64 in [401, 900, 100_000] {
            #expect(detector.look(work, at: start + time * millisecond, counts: true) == .nothing)
        }
    }

    @Test func withoutAWaitAHangIsToldAtTheLookAfterDetection() {
        let rule = DetectionRule(intervalNanoseconds: 50 * millisecond, timeouts: 3, hangNanoseconds: 0)
        var detector = StallDetector.stalled(work, rule: rule)
        #expect(detector.nextLook == start)
        #expect(detector.look(work, at: start + 150 * millisecond, counts: true) == .hanging)
        #expect(detector.look(work, at: start + 151 * millisecond, counts: true) == .nothing)
    }

    @Test func aFurtherLookIsWantedOnlyWhenOneTimeoutIsMissing() {
        var detector = StallDetector(rule: standardRule)
        #expect(detector.nextLook == nil)
        _ = detector.look(work, at: start, counts: false)
        #expect(detector.nextLook == nil)
        _ = detector.look(work, at: start + 50 * millisecond, counts: true)
        #expect(detector.nextLook == nil)
        _ = detector.look(work, at: start + 100 * millisecond, counts: true)
        #expect(detector.nextLook == start + 150 * millisecond)
    }

    @Test func finishGivesBackWhatWasInProgress() {
        var idle = StallDetector(rule: standardRule)
        #expect(idle.finish() == .nothing)
        var working = StallDetector(rule: standardRule)
        _ = working.look(work, at: start, counts: false)
        #expect(working.finish() == .nothing)
        var stalled = StallDetector.stalled(work)
        #expect(stalled.finish() == .stalled(since: start, word: work.word))
        #expect(stalled.state == .idle)
        #expect(stalled.finish() == .nothing)
    }
}
