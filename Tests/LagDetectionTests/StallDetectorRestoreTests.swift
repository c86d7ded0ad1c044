import LagActivity
import Testing

@testable import LagDetection

/// After a reported stall: further ones are counted, not reported, for a while.
struct StallDetectorRestoreTests {
    private let rule = DetectionRule(
        intervalNanoseconds: 50 * millisecond,
        timeouts: 3,
        restoreNanoseconds: 5000 * millisecond,
        hangNanoseconds: 400 * millisecond
    )
    private let start: UInt64 = 1000 * millisecond

    /// A detector whose first stall has ended at the time that is returned.
    private func afterAStall() -> (StallDetector, ended: UInt64) {
        var detector = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start), rule: rule)
        let end = start + 200 * millisecond
        _ = detector.look(BeaconReading(2, .waiting, at: end, answered: end), at: end, counts: false)
        return (detector, end)
    }

    /// Lets the loop work from `begin` on; what the detector said at each look, 50 ms apart.
    private func work(_ detector: inout StallDetector, sequence: UInt64, from begin: UInt64, ticks: UInt64) -> [StallDetector
        .Verdict]
    {
        let reading = BeaconReading(sequence, .beforeSources, at: begin)
        return (0...ticks).map { detector.look(reading, at: begin + $0 * 50 * millisecond, counts: $0 > 0) }
    }

    @Test func aStallInTheRestoreIntervalIsCountedAtItsEnd() {
        var (detector, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        #expect(
            work(&detector, sequence: 3, from: begin, ticks: 6) == [.nothing, .suspected] + Array(repeating: .nothing, count: 5)
        )
        #expect(!detector.isStalled)
        #expect(detector.look(BeaconReading(4, .waiting), at: begin + 310 * millisecond, counts: true) == .suppressed)
        #expect(detector.state == .idle)
    }

    @Test func suppressedOnesDoNotProlongTheInterval() {
        var (detector, ended) = afterAStall()
        _ = work(&detector, sequence: 3, from: ended + 4000 * millisecond, ticks: 4)
        #expect(detector.look(BeaconReading(4, .waiting), at: ended + 4300 * millisecond, counts: true) == .suppressed)
        let begin = ended + 5000 * millisecond - 150 * millisecond
        #expect(work(&detector, sequence: 5, from: begin, ticks: 3).last == .stalled(since: begin))
    }

    @Test func oneNanosecondBeforeTheIntervalEndsItIsMuted() {
        var (detector, ended) = afterAStall()
        let begin = ended + 5000 * millisecond - 150 * millisecond - 1
        #expect(work(&detector, sequence: 3, from: begin, ticks: 3).last == .nothing)
        #expect(!detector.isStalled)
    }

    @Test func aStallThatOutlivesTheIntervalIsReportedAfterAll() {
        var (detector, ended) = afterAStall()
        let begin = ended + 4500 * millisecond
        let verdicts = work(&detector, sequence: 3, from: begin, ticks: 11)
        #expect(verdicts[9] == .nothing)
        #expect(verdicts[10] == .stalled(since: begin))
        #expect(verdicts[11] == .hanging)
    }

    @Test func aMutedStallAtTheEndOfTheWatchIsCounted() {
        var (detector, ended) = afterAStall()
        _ = work(&detector, sequence: 3, from: ended + 1000 * millisecond, ticks: 4)
        #expect(detector.finish() == .suppressed)
    }

    @Test func aMutedStallRightBeforeOtherWorkIsCountedOnce() {
        var (detector, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        _ = work(&detector, sequence: 3, from: begin, ticks: 4)
        let next = BeaconReading(4, .beforeTimers, at: begin + 205 * millisecond)
        #expect(detector.look(next, at: begin + 250 * millisecond, counts: true) == .suppressed)
        #expect(detector.look(BeaconReading(5, .waiting), at: begin + 260 * millisecond, counts: true) == .nothing)
    }

    @Test func aClockThatWentBackDoesNotSilenceTheLoop() {

        var far = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start), rule: rule)
        _ = far.look(BeaconReading(2, .waiting), at: start + 1_000_000 * millisecond, counts: false)
        #expect(
            work(&far, sequence: 3, from: start + 2000 * millisecond, ticks: 3).last
                == .stalled(since: start + 2000 * millisecond)
        )
    }

    @Test func withoutARestoreIntervalEveryStallIsReported() {
        var detector = StallDetector.stalled(BeaconReading(1, .beforeSources, at: start))
        let end = start + 200 * millisecond
        _ = detector.look(BeaconReading(2, .waiting), at: end, counts: false)
        #expect(work(&detector, sequence: 3, from: end + 1, ticks: 3).last == .stalled(since: end + 1))
    }
}
