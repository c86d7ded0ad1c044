internal import LagActivity
import Testing

@testable import LagDetection

/// One incident from its beginning to its end.
struct LoopJudgeTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start, woke: start) }
    private let nothing = LoopJudge.Judgement()

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    @Test func aStallIsSuspectedThenOpenedThenEnded() {
        var judge = LoopJudge(rules: .standard)
        var judgements: [LoopJudge.Judgement] = []
        for tick in 0...4 as ClosedRange<UInt64> { judgements.append(judge.look(work, at: at(tick * 50), isTick: tick > 0)) }
        #expect(judgements == [nothing, .init(isSuspected: true), nothing, .init(opened: .callout), nothing])
        #expect(judge.isStalled && judge.incident?.lead != .starvation)
        let after = judge.look(BeaconReading(2, .waiting, answered: at(230)), at: at(240))
        let ended = LoopJudge.Ended(
            kind: .callout,
            kinds: StallKinds(.callout),
            extent: Extent(Span(since: start, seen: at(200)), until: at(230)),
            thresholdNanoseconds: 150 * millisecond
        )
        #expect(after == .init(ended: ended))
        #expect(!judge.isStalled && judge.incident == nil && judge.floor == at(230))
    }

    @Test func aHangIsToldOnceAndAtItsTime() {
        var judge = LoopJudge.stalled(work, rules: .callouts(hang: 400 * millisecond))
        #expect(judge.nextLook == at(400))
        #expect(judge.look(work, at: at(400) - 1) == nothing)
        let hanging = judge.look(work, at: at(400), isTick: false).hanging
        #expect(hanging?.extent == Extent(Span(since: start, seen: start), until: at(400)))
        #expect(hanging?.kind == .callout)
        #expect(judge.nextLook == nil)
        for time: UInt64 in [401, 900, 100_000] { #expect(judge.look(work, at: at(time)) == nothing) }
    }

    @Test func withoutAWaitAHangIsToldAtTheLookAfterDetection() {
        var judge = LoopJudge.stalled(work, rules: .callouts(hang: 0))
        #expect(judge.nextLook == start)
        #expect(judge.look(work, at: at(150)).hanging != nil)
        #expect(judge.look(work, at: at(151)) == nothing)
    }

    @Test func blackoutsMakeNoHang() {
        var judge = LoopJudge.stalled(work, rules: .callouts(hang: 1000 * millisecond))
        let resumed = at(10_150)
        #expect(judge.look(work, at: resumed, blackout: Blackout(from: at(150), to: resumed)) == nothing)
        #expect(judge.nextLook == at(11_000))
        #expect(judge.look(work, at: at(11_000)).hanging?.extent.length == 1000 * millisecond)
    }

    @Test func closerLooksAreWorthWhileUntilItIsTold() {
        var judge = LoopJudge(rules: .callouts(hang: 1000 * millisecond))
        _ = judge.look(work, at: start, isTick: false)
        #expect(!judge.isSuspicious)
        _ = judge.look(work, at: at(50))
        #expect(judge.isSuspicious)
        for time: UInt64 in [100, 150, 999] { _ = judge.look(work, at: at(time)) }
        #expect(judge.isSuspicious)
        _ = judge.look(work, at: at(1000))
        #expect(!judge.isSuspicious)
    }

    @Test func norForALongStall() {
        var judge = LoopJudge.stalled(work, rules: .callouts(hang: .max))
        _ = judge.look(work, at: at(64 * 50 - 1))
        #expect(judge.isSuspicious)
        _ = judge.look(work, at: at(64 * 50))
        #expect(!judge.isSuspicious)
    }

    @Test func aLoopInAStallIsNotGlancedAt() {
        var judge = LoopJudge(rules: .standard)
        #expect(judge.mayBeGlanced)
        judge = .stalled(work)
        #expect(!judge.mayBeGlanced)
        _ = judge.look(BeaconReading(2, .waiting), at: at(200))
        #expect(judge.mayBeGlanced)
    }

    @Test func finishGivesBackWhatWasInProgress() {
        var idle = LoopJudge(rules: .standard)
        #expect(idle.finish(at: start) == .nothing)
        var working = LoopJudge(rules: .standard)
        _ = working.look(work, at: start, isTick: false)
        #expect(working.finish(at: at(100)) == .nothing)
        var stalled = LoopJudge.stalled(work)
        guard case .stalled(let ended) = stalled.finish(at: at(170)) else {
            Issue.record("nothing in progress")
            return
        }
        #expect(ended.kind == .callout && ended.extent.since == start && ended.extent.until == at(170))
        #expect(ended.extent.length == 170 * millisecond)
        #expect(stalled.callout?.state == .idle && stalled.incident == nil)
        #expect(stalled.finish(at: at(180)) == .nothing)
    }

    @Test func finishKnowsOfABlackoutSinceTheLastLook() {
        var judge = LoopJudge.stalled(work)
        let blackout = Blackout(from: at(160), to: at(2160), atLeast: 1990 * millisecond, atMost: 2000 * millisecond)
        guard case .stalled(let ended) = judge.finish(at: at(2160), blackout) else {
            Issue.record("nothing in progress")
            return
        }
        #expect(ended.extent.lengthAtLeast == 160 * millisecond && ended.extent.lengthAtMost == 170 * millisecond)
    }

    @Test func afterAPauseNothingBeforeItsEndCounts() {
        var judge = LoopJudge(rules: .standard)
        _ = judge.look(work, at: start, isTick: false)
        #expect(judge.finish(at: at(20), floor: at(1000)) == .nothing)
        for time: UInt64 in [1000, 1050, 1100, 1149] { #expect(judge.look(work, at: at(time)).opened == nil) }
        #expect(judge.look(work, at: at(1150)).opened == .callout)
        #expect(judge.span(of: .callout)?.since == at(1000))
    }

    @Test func inTheGraceNothingCounts() {
        var rules = WatchRules.standard
        rules.graceNanoseconds = 1000 * millisecond
        rules.starvationNanoseconds = 100 * millisecond
        rules.ping = standardRule
        rules.frame = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 3)
        rules.sampling = WatchRules.Sampling(intervalNanoseconds: 20 * millisecond, samples: 3, functions: 1)
        var judge = LoopJudge(rules: rules, floor: at(1000))
        for time in stride(from: UInt64(0), to: 1040, by: 1) {
            let judgement = judge.look(work, at: at(time), isTick: time % 50 == 0, sample: SampleKey(1))
            #expect(judgement == nothing || judgement == .init(isSuspected: true) || judgement.wantsPing && time >= 1000)
        }
        var opened: [StallKind] = []
        for time: UInt64 in 1040...1300 {
            let judgement = judge.look(work, at: at(time), isTick: time % 50 == 0, sample: SampleKey(1))
            if let kind = judgement.opened { opened.append(kind) }
        }
        #expect(opened.count > 0)
        #expect(judge.incident.flatMap { judge.span(of: $0.lead) }?.since == at(1000))
    }

    @Test func aDismissedStallIsNoneAndCountsAnew() {
        var judge = LoopJudge.stalled(work)
        judge.dismiss(at: at(5000))
        #expect(!judge.isStalled && judge.incident == nil)
        for time: UInt64 in [5050, 5100, 5149] { #expect(judge.look(work, at: at(time)).opened == nil) }
        #expect(judge.look(work, at: at(5150)).opened == .callout)
        #expect(judge.span(of: .callout)?.since == at(5000))
        // What was dismissed begins no restore interval.
        var restoring = LoopJudge.stalled(work, rules: .callouts(restore: 10_000 * millisecond))
        restoring.dismiss(at: at(200))
        for time: UInt64 in [250, 300] { _ = restoring.look(work, at: at(time)) }
        #expect(restoring.look(work, at: at(350)).opened == .callout)
    }

    @Test func withoutRulesNothingIsFound() {
        var judge = LoopJudge(rules: WatchRules())
        for time in 0...1000 as ClosedRange<UInt64> { #expect(judge.look(work, at: at(time * 50)) == nothing) }
        #expect(judge.nextLook == nil && judge.finish(at: at(60_000)) == .nothing)
    }
}
