internal import LagActivity
internal import LagModel
import Testing

@testable import LagDetection

/// One stall from its beginning to its end.
struct StallDetectorTests {
    private let start: UInt64 = 1000 * millisecond
    private var work: BeaconReading { BeaconReading(1, .beforeSources, at: start, woke: start) }
    private let nothing = DetectorEvents()

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    @Test func `a stall is suspected, then opened, then ended`() {
        var detector = StallDetector(rules: .standard)
        var observed: [DetectorEvents] = []
        for tick in 0...4 as ClosedRange<UInt64> {
            observed.append(detector.observe(work, at: at(tick * 50), isTick: tick > 0))
        }
        let stall = ActiveStall(
            lead: .callout,
            kinds: StallKinds(.callout),
            thresholdNanoseconds: 150 * millisecond,
            isMuted: false
        )
        let opened = DetectorEvent.opened(stall, StallInterval(since: start, seen: at(150)))
        #expect(observed == [nothing, [.suspected], nothing, [opened], nothing])
        #expect(detector.isStalled && detector.activeStall?.lead != .starvation)
        let after = detector.observe(BeaconReading(2, .waiting, answered: at(230)), at: at(240))
        #expect(after == [.ended(stall, StallInterval(since: start, seen: at(200)).ended(at: at(230)))])
        #expect(!detector.isStalled && detector.activeStall == nil && detector.ignoreBefore == at(230))
    }

    @Test func `a hang is reported once, at its threshold`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: 400 * millisecond))
        #expect(detector.nextPoll == at(400))
        #expect(detector.observe(work, at: at(400) - 1) == nothing)
        let hanging = detector.observe(work, at: at(400), isTick: false).hanging
        #expect(hanging?.interval == StallInterval(since: start, seen: start).ended(at: at(400)))
        #expect(hanging?.stall.lead == .callout)
        #expect(detector.nextPoll == nil)
        for time: UInt64 in [401, 900, 100_000] { #expect(detector.observe(work, at: at(time)) == nothing) }
    }

    @Test func `with a hang threshold of zero a hang is reported at the poll after detection`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: 0))
        #expect(detector.nextPoll == start)
        #expect(detector.observe(work, at: at(150)).hanging != nil)
        #expect(detector.observe(work, at: at(151)) == nothing)
    }

    @Test func `a stall in progress is reported at once on request`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: 5000 * millisecond))
        let asked = at(210)
        guard case .hanging(let stall, let interval)? = detector.reportNow(begunBefore: asked, at: at(220)) else {
            Issue.record("not reported")
            return
        }
        #expect(stall.lead == .callout && interval.until == at(220) && interval.since == start)
        // Once only, also when the hang threshold is reached.
        #expect(detector.reportNow(begunBefore: asked, at: at(230)) == nil)
        #expect(detector.observe(work, at: at(5000), isTick: false).hanging == nil)
    }

    @Test func `a stall that began after the request is reported at its hang threshold`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: 5000 * millisecond))
        #expect(detector.reportNow(begunBefore: start - 1, at: at(220)) == nil)
        #expect(detector.observe(work, at: at(5000), isTick: false).hanging != nil)
    }

    @Test func `without a stall a request reports nothing`() {
        var detector = StallDetector(rules: .standard)
        #expect(detector.reportNow(begunBefore: .max, at: start) == nil)
        _ = detector.observe(work, at: at(100))
        #expect(detector.reportNow(begunBefore: .max, at: at(100)) == nil)
    }

    @Test func `a process pause causes no hang`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: 1000 * millisecond))
        let resumed = at(10_150)
        #expect(detector.observe(work, at: resumed, processPause: ProcessPause(from: at(150), to: resumed)) == nothing)
        #expect(detector.nextPoll == at(11_000))
        #expect(detector.observe(work, at: at(11_000)).hanging?.interval.length == 1000 * millisecond)
    }

    @Test func `fast polls are used from the suspicion until the hang is reported`() {
        var detector = StallDetector(rules: .callouts(hang: 1000 * millisecond))
        _ = detector.observe(work, at: start, isTick: false)
        #expect(!detector.isSuspicious)
        _ = detector.observe(work, at: at(50))
        #expect(detector.isSuspicious)
        for time: UInt64 in [100, 150, 999] { _ = detector.observe(work, at: at(time)) }
        #expect(detector.isSuspicious)
        _ = detector.observe(work, at: at(1000))
        #expect(!detector.isSuspicious)
    }

    @Test func `a long stall is not polled fast`() {
        var detector = StallDetector.stalled(work, rules: .callouts(hang: .max))
        _ = detector.observe(work, at: at(64 * 50 - 1))
        #expect(detector.isSuspicious)
        _ = detector.observe(work, at: at(64 * 50))
        #expect(!detector.isSuspicious)
    }

    @Test func `a stalled loop gets no fast poll`() {
        var detector = StallDetector(rules: .standard)
        #expect(detector.canFastPoll)
        detector = .stalled(work)
        #expect(!detector.canFastPoll)
        _ = detector.observe(BeaconReading(2, .waiting), at: at(200))
        #expect(detector.canFastPoll)
    }

    @Test func `finishing returns the stall in progress`() {
        var idle = StallDetector(rules: .standard)
        #expect(idle.finish(at: start) == nil)
        var working = StallDetector(rules: .standard)
        _ = working.observe(work, at: start, isTick: false)
        #expect(working.finish(at: at(100)) == nil)
        var stalled = StallDetector.stalled(work)
        guard case .ended(let stall, let interval) = stalled.finish(at: at(170)) else {
            Issue.record("nothing in progress")
            return
        }
        #expect(stall.lead == .callout && interval.since == start && interval.until == at(170))
        #expect(interval.length == 170 * millisecond)
        #expect(stalled.strategies.callout?.state == .idle && stalled.activeStall == nil)
        #expect(stalled.finish(at: at(180)) == nil)
    }

    @Test func `finishing subtracts a process pause since the last poll`() {
        var detector = StallDetector.stalled(work)
        let processPause = ProcessPause(from: at(160), to: at(2160), atLeast: 1990 * millisecond, atMost: 2000 * millisecond)
        guard case .ended(_, let interval) = detector.finish(at: at(2160), processPause) else {
            Issue.record("nothing in progress")
            return
        }
        #expect(interval.lengthAtLeast == 160 * millisecond && interval.lengthAtMost == 170 * millisecond)
    }

    @Test func `after a pause the time before its end does not count`() {
        var detector = StallDetector(rules: .standard)
        _ = detector.observe(work, at: start, isTick: false)
        #expect(detector.finish(at: at(20), ignoreBefore: at(1000)) == nil)
        for time: UInt64 in [1000, 1050, 1100, 1149] { #expect(detector.observe(work, at: at(time)).opened == nil) }
        #expect(detector.observe(work, at: at(1150)).opened == .callout)
        #expect(detector.interval(of: .callout)?.since == at(1000))
    }

    @Test func `time in the startup grace does not count`() {
        var rules = WatchRules.standard
        rules.graceNanoseconds = 1000 * millisecond
        rules.starvationNanoseconds = 100 * millisecond
        rules.ping = standardRule
        rules.frame = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 3)
        rules.sampling = WatchRules.Sampling(intervalNanoseconds: 20 * millisecond, samples: 3, functions: 1)
        var detector = StallDetector(rules: rules, ignoreBefore: at(1000))
        for time in stride(from: UInt64(0), to: 1040, by: 1) {
            let events = detector.observe(work, at: at(time), isTick: time % 50 == 0, sample: SampleKey(1))
            #expect(events == nothing || events == [.suspected] || events.wantsPing && time >= 1000)
        }
        var opened: [StallKind] = []
        for time: UInt64 in 1040...1300 {
            let events = detector.observe(work, at: at(time), isTick: time % 50 == 0, sample: SampleKey(1))
            if let kind = events.opened { opened.append(kind) }
        }
        #expect(opened.count > 0)
        #expect(detector.activeStall.flatMap { detector.interval(of: $0.lead) }?.since == at(1000))
    }

    @Test func `a dismissed stall is not reported, and the measurement restarts`() {
        var detector = StallDetector.stalled(work)
        detector.dismiss(at: at(5000))
        #expect(!detector.isStalled && detector.activeStall == nil)
        for time: UInt64 in [5050, 5100, 5149] { #expect(detector.observe(work, at: at(time)).opened == nil) }
        #expect(detector.observe(work, at: at(5150)).opened == .callout)
        #expect(detector.interval(of: .callout)?.since == at(5000))
        // A dismissed stall starts no restore interval.
        var restoring = StallDetector.stalled(work, rules: .callouts(restore: 10_000 * millisecond))
        restoring.dismiss(at: at(200))
        for time: UInt64 in [250, 300] { _ = restoring.observe(work, at: at(time)) }
        #expect(restoring.observe(work, at: at(350)).opened == .callout)
    }

    @Test func `without rules no stall is found`() {
        var detector = StallDetector(rules: WatchRules())
        for time in 0...1000 as ClosedRange<UInt64> { #expect(detector.observe(work, at: at(time * 50)) == nothing) }
        #expect(detector.nextPoll == nil && detector.finish(at: at(60_000)) == nil)
    }
}
