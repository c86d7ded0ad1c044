internal import LagActivity
import LagCapture
internal import LagModel
import Testing

@testable import LagDetection

/// How a slow round of polls affects the loops in it, and a rule that takes over.
struct SlowRoundTests {
    private let start: UInt64 = 1000 * millisecond

    /// It began after the round did, which took long because another loop was captured in it.
    @Test func `a callout that began during the round is not backdated`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        // With a starvation rule, a fresh wake gets a full poll.
        var rules = WatchRules.standard
        rules.starvationNanoseconds = 1000 * millisecond
        let index = bench.watch(loop, rules: rules)
        let begin = start + 28 * millisecond
        loop.move(to: .beforeSources, at: begin)
        bench.scan(at: start)
        bench.run(until: begin + 149 * millisecond)
        #expect(bench.counters(index).stalls == 0)
        bench.run(until: begin + 200 * millisecond)
        #expect(bench.registry.coldParts[index].detector.interval(of: .callout)?.since == begin)
    }

    /// The process was stopped in the middle of a round: the recorded stretch found in it waits for the next round, which knows
    /// about the stop.
    @Test func `a process pause in the middle of a round causes no stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        loop.move(to: .waiting, at: start + 1040 * millisecond)
        // The round began at 30 ms; the stop took 1000 ms before the round reached this loop.
        bench.clock.now = start + 1041 * millisecond
        bench.plan = bench.watchdog.scan(at: start + 30 * millisecond)
        #expect(bench.takeReported().isEmpty)
        #expect(bench.plan.deadline <= bench.clock.now)
        let processPause = ProcessPause(
            from: start + 30 * millisecond,
            to: start + 1041 * millisecond,
            atLeast: 0,
            atMost: 1011 * millisecond
        )
        bench.scan(at: start + 1042 * millisecond, processPause: processPause)
        #expect(bench.takeReported().isEmpty && bench.counters(index).stalls == 0)
    }

    /// The process was stopped before the round, which then took long: the next round must know about the stop.
    @Test func `a process pause before a slow round is still subtracted`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        loop.move(to: .waiting, at: start + 10_020 * millisecond)
        let processPause = ProcessPause(
            from: start + 10 * millisecond,
            to: start + 10_010 * millisecond,
            atLeast: 9950 * millisecond,
            atMost: 10_000 * millisecond
        )
        bench.clock.now = start + 10_040 * millisecond
        bench.plan = bench.watchdog.scan(at: start + 10_025 * millisecond, processPause: processPause)
        #expect(bench.takeReported().isEmpty)
        bench.scan(at: start + 10_041 * millisecond)
        #expect(bench.takeReported().isEmpty && bench.counters(index).stalls == 0)
    }

    /// Slow polls of other loops do not repeatedly delay the report of an end.
    @Test func `the report of an end is postponed only once`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        bench.stall(loop, from: start)
        loop.move(to: .waiting, at: start + 210 * millisecond)
        for round: UInt64 in 0...1 {
            bench.clock.now = start + (240 + round * 30) * millisecond
            bench.plan = bench.watchdog.scan(at: bench.clock.now - 20 * millisecond)
        }
        #expect(bench.takeReported().map(\.until) == [start + 210 * millisecond])
    }

    /// A ping that was unanswered for long is a separate stall if one callout in it becomes a stall.
    @Test func `a long ping stall is reported before the callout stall that takes over`() {
        var rules = WatchRules.standard
        rules.ping = standardRule
        var detector = StallDetector(rules: rules)
        let since = start
        func observation(_ word: UInt64, _ callout: UInt64, at time: UInt64, tick: Bool) -> Observation {
            let reading = BeaconReading(word, .beforeSources, at: callout, woke: since)
            return Observation(reading, at: time, isTick: tick, pinged: since)
        }
        // Callouts of 20 ms, and a ping that is never answered.
        var opened: [StallKind] = []
        for turn: UInt64 in 0..<50 {
            let time = since + turn * 20 * millisecond
            if let kind = detector.observe(observation(turn + 1, time, at: time, tick: false)).opened { opened.append(kind) }
        }
        #expect(opened == [.ping])
        let long = since + 1000 * millisecond
        var ended: (stall: ActiveStall, interval: StallInterval)?
        for tick: UInt64 in 0...3 {
            let events = detector.observe(observation(99, long, at: long + tick * 50 * millisecond, tick: tick > 0))
            if let end = events.ended { ended = end }
            if let kind = events.opened { opened.append(kind) }
        }
        #expect(opened == [.ping, .callout])
        #expect(ended?.stall.lead == .ping && ended?.interval.until == long)
        #expect(detector.activeStall?.lead == .callout)
    }

    @Test func `a loop is armed only if a rule needs its answer at the end`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        var rules = WatchRules()
        rules.ping = standardRule
        let index = bench.watch(loop, rules: rules)
        for turn: UInt64 in 0..<60 {
            loop.move(to: .beforeSources, at: start + turn * 10 * millisecond)
            bench.run(until: start + turn * 10 * millisecond)
            bench.scan(at: start + turn * 10 * millisecond)
        }
        #expect(bench.counters(index).stalls == 1)
        // It continues to work: armed, it would wake the watchdog with every callout.
        #expect(!loop.isArmed)
    }

    /// The stall that another one cut off was reported, and the other one does not fall into its restore interval.
    @Test func `a callout stall that cuts off a starvation is not muted by it`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        var rules = WatchRules.callouts(restore: 60_000 * millisecond)
        rules.starvationNanoseconds = 400 * millisecond
        let index = bench.watch(loop, rules: rules)
        bench.starve(loop, from: start, callouts: 50)
        bench.run(until: start + 900 * millisecond)
        loop.move(to: .waiting, at: start + 910 * millisecond)
        bench.scan(at: start + 910 * millisecond)
        #expect(bench.takeReported().map(\.kind) == [.starvation, .callout])
        #expect(bench.counters(index) == WatchCounters(stalls: 2))
    }

    @Test(arguments: [(99, 0), (149, 0), (150, 1), (400, 1)] as [(UInt64, UInt64)])
    func `a stall that a late watchdog sees only once is found after a fast poll, too`(length: UInt64, stalls: UInt64) throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        loop.move(to: .afterWaiting, at: start + millisecond)
        bench.scan(at: start + 2 * millisecond)
        // A fast poll; the next poll is late.
        loop.move(to: .beforeTimers, at: start + 40 * millisecond)
        bench.scan(at: start + 50 * millisecond)
        let begin = start + 60 * millisecond
        loop.move(to: .beforeSources, at: begin)
        bench.scan(at: begin + length * millisecond)
        // Before its end, which the loop records itself.
        #expect(bench.counters(index).stalls == stalls)
    }
}
