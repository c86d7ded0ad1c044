internal import LagActivity
internal import LagModel
import Testing

@testable import LagDetection

/// Several rules for one loop.
struct StallDetectorCombinationTests {
    private let start: UInt64 = 1000 * millisecond

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    private func work(_ sequence: UInt64 = 1, since: UInt64 = 0, woke: UInt64 = 0, answered: UInt64 = 0, pong: UInt64 = 0)
        -> BeaconReading
    {
        BeaconReading(sequence, .beforeSources, at: at(since), answered: answered, woke: at(woke), pong: pong)
    }

    private func rules(starvation: UInt64? = nil, ping: TimeoutRule? = nil) -> WatchRules {
        var rules = WatchRules.callouts(hang: .max)
        rules.starvationNanoseconds = starvation.map { $0 * millisecond }
        rules.ping = ping
        return rules
    }

    /// Polls the same reading every 10 ms, after `from`, up to and including `to`.
    private func observeSteadily(
        _ detector: inout StallDetector,
        _ reading: BeaconReading,
        from: UInt64,
        to: UInt64,
        pinged: UInt64 = 0
    ) -> [(time: UInt64, events: DetectorEvents)] {
        stride(from: from, through: to, by: 10).map {
            ($0, detector.observe(reading, at: at($0), isTick: $0 % 50 == 0, pinged: pinged))
        }
    }

    @Test func `a stall that two rules find is one record`() {
        var detector = StallDetector(rules: rules(ping: standardRule))
        var polls = observeSteadily(&detector, work(), from: 0, to: 0)
        #expect(polls[0].events.wantsPing)
        // The callout is found at 150 ms; the ping was sent at 5 ms.
        polls = observeSteadily(&detector, work(), from: 10, to: 300, pinged: at(5))
        #expect(polls.compactMap(\.events.opened) == [.callout])
        #expect(polls.first { $0.events.opened != nil }?.time == 150)
        #expect(detector.activeStall?.kinds.kinds == [.callout, .ping])
        let end = at(307)
        let after = detector.observe(BeaconReading(2, .waiting, answered: end, woke: start), at: at(310), pinged: at(5))
        #expect(after.ended?.stall.lead == .callout && after.ended?.stall.kinds.kinds == [.callout, .ping])
        #expect(after.ended?.interval.since == start && after.ended?.interval.until == end)
        // The answer comes after that, when the loop handles it: no second record.
        for time in stride(from: UInt64(320), through: 1000, by: 10) {
            let pong = time < 400 ? 0 : at(399)
            let reading = BeaconReading(3, .beforeTimers, at: at(311), woke: at(311), pong: pong)
            if time > 440 { break }
            let events = detector.observe(reading, at: at(time), isTick: time % 50 == 0, pinged: at(5))
            #expect(events.ended == nil && events.opened == nil)
        }
    }

    @Test func `a stall that two rules find in one observation is opened with both`() {
        var detector = StallDetector(rules: rules(ping: standardRule))
        _ = observeSteadily(&detector, work(), from: 0, to: 0)
        let polls = observeSteadily(&detector, work(), from: 10, to: 150, pinged: start)
        let opened = polls.flatMap { poll in
            poll.events.all.compactMap { event -> ActiveStall? in
                if case .opened(let stall, _) = event { stall } else { nil }
            }
        }
        #expect(opened.map(\.lead) == [.callout] && opened.first?.kinds.kinds == [.callout, .ping])
        #expect(opened.first == detector.activeStall && polls.last?.events.opened == .callout)
    }

    @Test func `the most exact rule leads, in whichever order the rules find the stall`() {
        let fast = TimeoutRule(intervalNanoseconds: 20 * millisecond, timeouts: 2)
        var detector = StallDetector(rules: rules(ping: fast))
        _ = observeSteadily(&detector, work(), from: 0, to: 0)
        let polls = observeSteadily(&detector, work(), from: 10, to: 200, pinged: at(10))
        #expect(polls.compactMap(\.events.opened) == [.ping])
        #expect(polls.first { $0.events.opened != nil }?.time == 50)
        #expect(detector.activeStall?.lead == .callout && detector.activeStall?.kinds.kinds == [.callout, .ping])
        let after = detector.observe(work(2, since: 220), at: at(230), pinged: at(10))
        #expect(after.ended?.stall.lead == .callout && after.ended?.stall.thresholdNanoseconds == 150 * millisecond)
        #expect(after.ended?.interval.since == start && after.ended?.interval.until == at(220))
    }

    @Test func `a rule that does not lead does not end the stall`() {
        var detector = StallDetector(rules: rules(ping: standardRule))
        _ = observeSteadily(&detector, work(), from: 0, to: 0)
        _ = observeSteadily(&detector, work(), from: 10, to: 250, pinged: at(1))
        // An answer from another thread that serves the loop; the callout continues.
        let after = detector.observe(work(pong: at(255)), at: at(260), pinged: at(1))
        #expect(after.ended == nil && detector.activeStall?.kinds.kinds == [.callout, .ping])
        #expect(detector.observe(work(2, since: 270), at: at(280)).ended?.stall.kinds.kinds == [.callout, .ping])
    }

    @Test func `each ping rule reports its own threshold`() {
        var both = WatchRules()
        both.hangNanoseconds = .max
        both.ping = TimeoutRule(intervalNanoseconds: 500 * millisecond, timeouts: 3)
        both.pingWhileWaiting = standardRule
        var detector = StallDetector(rules: both)
        let waiting = BeaconReading(1, .waiting, at: 1, woke: 1)
        #expect(detector.observe(waiting, at: start).wantsPing)
        #expect(observeSteadily(&detector, waiting, from: 10, to: 200, pinged: start).compactMap(\.events.opened) == [.ping])
        // It may have begun since the loop published that it waits, an interval before the ping: in the middle.
        let answer = BeaconReading(1, .waiting, at: 1, woke: 1, pong: at(205))
        let ended = detector.observe(answer, at: at(210), pinged: start).ended
        #expect(ended?.stall.thresholdNanoseconds == 150 * millisecond && ended?.interval.length == 230 * millisecond)
    }

    @Test func `a long callout is not starvation`() {
        var detector = StallDetector(rules: rules(starvation: 400))
        let polls = observeSteadily(&detector, work(), from: 0, to: 2000)
        #expect(polls.compactMap(\.events.opened) == [.callout])
        #expect(detector.activeStall?.kinds.kinds == [.callout])
        #expect(detector.observe(work(2, since: 2005), at: at(2010)).ended?.stall.kinds.kinds == [.callout])
    }

    @Test func `a callout stall ends the starvation around it`() {
        var detector = StallDetector(rules: rules(starvation: 400))
        var opened: [(UInt64, StallKind)] = []
        var ended: [(stall: ActiveStall, interval: StallInterval)] = []
        func note(_ polls: [(time: UInt64, events: DetectorEvents)]) {
            for poll in polls {
                if let end = poll.events.ended { ended.append(end) }
                if let kind = poll.events.opened { opened.append((poll.time, kind)) }
            }
        }
        // Short callouts up to 500 ms, a long one up to 700, short ones up to 1300.
        for begin in stride(from: UInt64(0), to: 500, by: 20) {
            note(observeSteadily(&detector, work(1 + begin, since: begin), from: begin, to: begin + 10))
        }
        note(observeSteadily(&detector, work(1000, since: 500), from: 500, to: 690))
        for begin in stride(from: UInt64(700), to: 1300, by: 20) {
            note(observeSteadily(&detector, work(1000 + begin, since: begin), from: begin, to: begin + 10))
        }
        note([(1300, detector.observe(BeaconReading(9000, .waiting, answered: at(1300), woke: start), at: at(1300)))])
        #expect(opened.map(\.1) == [.starvation, .callout, .starvation])
        #expect(opened.map(\.0) == [400, 650, 1100])
        #expect(ended.map(\.stall.kinds.kinds) == [[.starvation], [.callout], [.starvation]])
        #expect(ended.map(\.interval.since) == [at(0), at(500), at(700)])
        #expect(ended.map(\.interval.until) == [at(500), at(700), at(1300)])
        #expect(ended.map(\.stall.thresholdNanoseconds) == [400, 150, 400].map { $0 * millisecond })
    }

    @Test func `a starvation whose threshold was reached within a callout stall is that stall`() {
        var detector = StallDetector(rules: rules(starvation: 400))
        for begin in stride(from: UInt64(0), to: 350, by: 50) {
            _ = observeSteadily(&detector, work(1 + begin, since: begin), from: begin, to: begin + 40)
        }
        let polls = observeSteadily(&detector, work(1000, since: 350), from: 350, to: 600)
        #expect(polls.compactMap(\.events.opened) == [.starvation])
        #expect(polls.allSatisfy { $0.events.ended == nil })
        #expect(detector.activeStall?.lead == .callout && detector.activeStall?.kinds.kinds == [.callout])
        let ended = detector.observe(work(2000, since: 610), at: at(620)).ended
        #expect(ended?.stall.kinds.kinds == [.callout] && ended?.stall.thresholdNanoseconds == 150 * millisecond)
        #expect(ended?.interval.since == at(350) && ended?.interval.until == at(610))
    }

    @Test func `a process pause in the callout does not shorten the starvation before it`() {
        var detector = StallDetector(rules: rules(starvation: 400))
        for begin in stride(from: UInt64(0), to: 500, by: 50) {
            _ = observeSteadily(&detector, work(1 + begin, since: begin), from: begin, to: begin + 40)
        }
        let callout = work(1000, since: 500)
        _ = observeSteadily(&detector, callout, from: 500, to: 560)
        _ = detector.observe(callout, at: at(2560), isTick: false, processPause: ProcessPause(from: at(560), to: at(2560)))
        let polls = observeSteadily(&detector, callout, from: 2570, to: 2700)
        let ended = polls.compactMap(\.events.ended).first
        #expect(ended?.stall.kinds.kinds == [.starvation])
        #expect(ended?.interval.length == 500 * millisecond && ended?.interval.lengthAtMost == 500 * millisecond)
        let last = detector.observe(work(2000, since: 2710), at: at(2720)).ended
        #expect(last?.stall.kinds.kinds == [.callout] && last?.interval.length == 210 * millisecond)
    }

    @Test func `a starvation ends with the next rest`() {
        var detector = StallDetector(rules: rules(starvation: 400))
        for begin in stride(from: UInt64(0), through: 400, by: 10) {
            _ = observeSteadily(&detector, work(1 + begin, since: begin), from: begin, to: begin)
        }
        #expect(detector.activeStall?.lead == .starvation && detector.activeStall?.lead == .starvation)
    }

    @Test func `samples and starvation are one record led by the starvation`() {
        var rules = rules(starvation: 400)
        rules.sampling = WatchRules.Sampling(intervalNanoseconds: 50 * millisecond, samples: 3, functions: 1)
        var detector = StallDetector(rules: rules)
        var opened: [StallKind] = []
        for time in stride(from: UInt64(0), through: 500, by: 10) {
            let reading = work(1 + time, since: time)
            let isDue = detector.strategies.sampling!.wantsSample(reading, at: at(time))
            let observation = Observation(reading, at: at(time), isTick: time % 50 == 0, sample: isDue ? SampleKey(7) : nil)
            if let kind = detector.observe(observation).opened { opened.append(kind) }
        }
        #expect(opened == [.sample])
        #expect(detector.activeStall?.kinds.kinds == [.starvation, .sample])
        let ended = detector.observe(BeaconReading(9000, .waiting, answered: at(505), woke: start), at: at(510)).ended
        #expect(ended?.stall.lead == .starvation && ended?.stall.kinds.kinds == [.starvation, .sample])
        #expect(ended?.interval.since == start && ended?.interval.until == at(505))
    }

    @Test func `missed ticks during a callout stall make no separate record`() {
        var rules = rules()
        rules.frame = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 3)
        var detector = StallDetector(rules: rules)
        let polls = observeSteadily(&detector, work(), from: 0, to: 300)
        #expect(polls.compactMap(\.events.opened) == [.frame])
        #expect(detector.activeStall?.lead == .callout && detector.activeStall?.kinds.kinds == [.callout, .frame])
        let after = detector.observe(BeaconReading(2, .waiting, answered: at(305), woke: start), at: at(310), ticked: at(308))
        #expect(after.ended?.stall.lead == .callout && after.opened == nil)
        for time in stride(from: UInt64(320), through: 500, by: 10) {
            let events = detector.observe(BeaconReading(2, .waiting), at: at(time), ticked: at(time) - 1)
            #expect(events == DetectorEvents())
        }
    }

    @Test func `the next poll is the earliest of all rules`() {
        var rules = rules(starvation: 400, ping: TimeoutRule(intervalNanoseconds: 300 * millisecond, timeouts: 2))
        rules.frame = WatchRules.Frame(periodNanoseconds: 100 * millisecond, missed: 2)
        rules.sampling = WatchRules.Sampling(intervalNanoseconds: 150 * millisecond, samples: 3, functions: 1)
        var detector = StallDetector(rules: rules)
        _ = detector.observe(work(), at: start, isTick: false)
        #expect(detector.nextPoll == at(150))
        rules.sampling = nil
        detector = StallDetector(rules: rules)
        _ = detector.observe(work(), at: start, isTick: false)
        #expect(detector.nextPoll == at(200))
        rules.frame = nil
        detector = StallDetector(rules: rules)
        _ = detector.observe(work(), at: start, isTick: false)
        #expect(detector.nextPoll == at(300))
        rules.ping = nil
        detector = StallDetector(rules: rules)
        _ = detector.observe(work(), at: start, isTick: false)
        #expect(detector.nextPoll == at(400))
    }
}
