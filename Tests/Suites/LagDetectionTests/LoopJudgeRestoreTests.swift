internal import LagActivity
import Testing

@testable import LagDetection

/// After a reported stall: further ones are counted, not reported, for a while.
struct LoopJudgeRestoreTests {
    private let rules = WatchRules.callouts(hang: 400 * millisecond, restore: 5000 * millisecond)
    private let start: UInt64 = 1000 * millisecond

    /// A judge whose first stall has ended at the time that is returned.
    private func afterAStall() -> (LoopJudge, ended: UInt64) {
        var judge = LoopJudge.stalled(BeaconReading(1, .beforeSources, at: start), rules: rules)
        let end = start + 200 * millisecond
        _ = judge.look(BeaconReading(2, .waiting, at: end, answered: end), at: end, isTick: false)
        return (judge, end)
    }

    /// Lets the loop work from `begin` on; what the judge said at each look, 50 ms apart.
    private func work(_ judge: inout LoopJudge, sequence: UInt64, from begin: UInt64, ticks: UInt64) -> [LoopJudge.Judgement] {
        let reading = BeaconReading(sequence, .beforeSources, at: begin)
        return (0...ticks).map { judge.look(reading, at: begin + $0 * 50 * millisecond, isTick: $0 > 0) }
    }

    private let nothing = LoopJudge.Judgement()

    @Test func aStallInTheRestoreIntervalIsCountedAtItsEnd() {
        var (judge, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        let judgements = work(&judge, sequence: 3, from: begin, ticks: 6)
        #expect(judgements == [nothing, .init(isSuspected: true)] + Array(repeating: nothing, count: 5))
        #expect(!judge.isStalled)
        #expect(judge.incident?.isMuted == true)
        #expect(judge.look(BeaconReading(4, .waiting), at: begin + 310 * millisecond) == .init(isSuppressed: true))
        #expect(judge.incident == nil)
    }

    @Test func suppressedOnesDoNotProlongTheInterval() {
        var (judge, ended) = afterAStall()
        _ = work(&judge, sequence: 3, from: ended + 4000 * millisecond, ticks: 4)
        #expect(judge.look(BeaconReading(4, .waiting), at: ended + 4300 * millisecond).isSuppressed)
        let begin = ended + 5000 * millisecond - 150 * millisecond
        #expect(work(&judge, sequence: 5, from: begin, ticks: 3).last?.opened == .callout)
        #expect(judge.span(of: .callout)?.since == begin)
    }

    @Test func oneNanosecondBeforeTheIntervalEndsItIsMuted() {
        var (judge, ended) = afterAStall()
        let begin = ended + 5000 * millisecond - 150 * millisecond - 1
        #expect(work(&judge, sequence: 3, from: begin, ticks: 3).last == nothing)
        #expect(!judge.isStalled)
        // The moment at which it would have to be told after all.
        #expect(judge.nextLook == ended + 5000 * millisecond)
    }

    @Test func aStallThatOutlivesTheIntervalIsReportedAfterAll() {
        var (judge, ended) = afterAStall()
        let begin = ended + 4500 * millisecond
        let judgements = work(&judge, sequence: 3, from: begin, ticks: 11)
        #expect(judgements[9] == nothing)
        #expect(judgements[10] == .init(opened: .callout))
        #expect(judge.span(of: .callout)?.since == begin)
        #expect(judgements[11].hanging?.extent.since == begin)
        #expect(judgements[11].opened == nil)
    }

    @Test func aMutedStallAtTheEndOfTheWatchIsCounted() {
        var (judge, ended) = afterAStall()
        _ = work(&judge, sequence: 3, from: ended + 1000 * millisecond, ticks: 4)
        #expect(judge.finish(at: ended + 1300 * millisecond) == .suppressed)
    }

    @Test func aMutedStallRightBeforeOtherWorkIsCountedOnce() {
        var (judge, ended) = afterAStall()
        let begin = ended + 1000 * millisecond
        _ = work(&judge, sequence: 3, from: begin, ticks: 4)
        let next = BeaconReading(4, .beforeTimers, at: begin + 205 * millisecond)
        #expect(judge.look(next, at: begin + 250 * millisecond) == .init(isSuppressed: true))
        #expect(judge.look(BeaconReading(5, .waiting), at: begin + 260 * millisecond) == nothing)
    }

    @Test func aClockThatWentBackDoesNotSilenceTheLoop() {
        var far = LoopJudge.stalled(BeaconReading(1, .beforeSources, at: start), rules: rules)
        _ = far.look(BeaconReading(2, .waiting), at: start + 1_000_000 * millisecond, isTick: false)
        let begin = start + 2000 * millisecond
        #expect(work(&far, sequence: 3, from: begin, ticks: 3).last?.opened == .callout)
        #expect(far.span(of: .callout)?.since == begin)
    }

    @Test func withoutARestoreIntervalEveryStallIsReported() {
        var judge = LoopJudge.stalled(BeaconReading(1, .beforeSources, at: start))
        let end = start + 200 * millisecond
        _ = judge.look(BeaconReading(2, .waiting, answered: end), at: end, isTick: false)
        #expect(work(&judge, sequence: 3, from: end + 1, ticks: 3).last?.opened == .callout)
        #expect(judge.span(of: .callout)?.since == end + 1)
    }

    @Test func theRestoreIntervalOutlastsAPause() {
        var (judge, ended) = afterAStall()
        #expect(judge.finish(at: ended + 10 * millisecond, floor: ended + 20 * millisecond) == .nothing)
        #expect(work(&judge, sequence: 3, from: ended + 1000 * millisecond, ticks: 3).last == nothing)
        #expect(judge.incident?.isMuted == true)
    }

    @Test func anotherRuleInTheRestoreIntervalIsMutedToo() {
        var rules = rules
        rules.starvationNanoseconds = 300 * millisecond
        var judge = LoopJudge.stalled(BeaconReading(1, .beforeSources, at: start, woke: start), rules: rules)
        let end = start + 200 * millisecond
        #expect(judge.look(BeaconReading(2, .waiting, answered: end), at: end).ended != nil)
        let woke = end + 100 * millisecond
        var sequence: UInt64 = 3
        for time in stride(from: woke, through: woke + 400 * millisecond, by: Int(50 * millisecond)) {
            #expect(judge.look(BeaconReading(sequence, .beforeTimers, at: time, woke: woke), at: time) == nothing)
            sequence += 1
        }
        #expect(judge.incident?.lead == .starvation && judge.incident?.isMuted == true)
        let rest = woke + 420 * millisecond
        let after = judge.look(BeaconReading(sequence, .waiting, answered: rest, woke: woke), at: rest)
        #expect(after == .init(isSuppressed: true))
    }
}
