internal import LagActivity
import Testing

@testable import LagDetection

/// Watches that are paused, added and ended, and process pauses at their end.
struct WatchdogPauseTests {
    private let start: UInt64 = 1000 * millisecond

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    /// One loop, working since `start`, polled up to the given time.
    private func working(_ loop: FakeLoop, until time: UInt64, rules: WatchRules = .standard) throws -> (WatchdogBench, Int) {
        let bench = try WatchdogBench()
        let index = bench.watch(loop, rules: rules)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: at(time))
        return (bench, index)
    }

    @Test func `a pause during a stall abandons the stall`() throws {
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 200)
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(210))
        bench.scan(at: at(210))
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.abandoned] && reported.first?.until == at(210))
        bench.run(until: at(5000))
        #expect(bench.takeReported().isEmpty && bench.counters(index) == WatchCounters(stalls: 1))
        #expect(bench.plan.deadline == .max)
    }

    @Test func `after a pause the time before its end does not count`() throws {
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 100)
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(110))
        bench.scan(at: at(110))
        bench.registry.setPaused(false, loop, of: bench.owner, now: at(1000))
        bench.scan(at: at(1001))
        bench.run(until: at(1149))
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: at(1160))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.move(to: .waiting, at: at(1200))
        bench.scan(at: at(1200))
        #expect(bench.takeReported().map(\.since) == [at(1000)])
    }

    /// The watchdog may be late, or the pause short.
    @Test func `a pause that the watchdog did not see has the same effect`() throws {
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 100)
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(101))
        bench.registry.setPaused(false, loop, of: bench.owner, now: at(140))
        bench.run(until: at(289))
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: at(300))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        // The same during a stall: the stall ends.
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(310))
        bench.registry.setPaused(false, loop, of: bench.owner, now: at(320))
        bench.scan(at: at(330))
        #expect(bench.takeReported().map(\.phase) == [.abandoned])
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    @Test func `paused loops are not armed`() throws {
        let bench = try WatchdogBench()
        let (paused, other) = (FakeLoop(), FakeLoop())
        for loop in [paused, other] {
            _ = bench.watch(loop)
            loop.move(to: .waiting, at: start)
        }
        bench.registry.setPaused(true, paused, of: bench.owner, now: start)
        bench.scan(at: start)
        bench.run(until: at(1000))
        #expect(bench.plan.deadline == .max)
        #expect(!paused.isArmed && other.isArmed)
        bench.registry.setPaused(false, paused, of: bench.owner, now: at(1000))
        bench.scan(at: at(1000))
        bench.run(until: at(2000))
        #expect(bench.plan.deadline == .max && paused.isArmed)
    }

    @Test func `a paused watch that ends is retired`() throws {
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 20)
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(30))
        bench.scan(at: at(30))
        #expect(bench.registry.end(loop, of: bench.owner))
        bench.scan(at: at(40))
        #expect(bench.registry.retired() == [index])
        bench.registry.reap(bench.registry.retired())
        #expect(!bench.registry.holds(anythingOf: bench.owner))
    }

    @Test(arguments: [false, true])
    func `ending all watches also ends paused ones`(isResuming: Bool) throws {
        let loop = FakeLoop()
        let (bench, _) = try working(loop, until: 20)
        bench.registry.setPaused(true, loop, of: bench.owner, now: at(30))
        bench.scan(at: at(30))
        if isResuming { bench.registry.setPaused(false, loop, of: bench.owner, now: at(31)) }
        bench.watchdog.endAll()
        #expect(bench.takeReported().isEmpty)
        #expect(!bench.registry.holds(anythingOf: bench.owner))
    }

    @Test func `a loop can be added and removed while another is stalled`() throws {
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 160)
        for round in 0..<50 as Range<UInt64> {
            let guest = FakeLoop()
            let place = bench.watch(guest)
            guest.move(to: .beforeTimers, at: at(160 + round * 100))
            bench.scan(at: at(160 + round * 100))
            bench.run(until: at(160 + round * 100 + 20))
            #expect(bench.registry.end(guest, of: bench.owner))
            bench.scan(at: at(160 + round * 100 + 30))
            #expect(loop.isArmed && !guest.isArmed)
            // The next one gets the same place.
            bench.registry.reap(bench.registry.retired())
            #expect(place == 1)
        }
        loop.move(to: .waiting, at: at(6000))
        bench.scan(at: at(6000))
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.begin, .end])
        #expect(reported.last?.since == start && reported.last?.until == at(6000) && reported.last?.watch == index)
    }

    @Test func `a loop that is watched again during a stall counts from its callout`() throws {
        let loop = FakeLoop()
        let (bench, _) = try working(loop, until: 160)
        #expect(bench.registry.end(loop, of: bench.owner))
        _ = bench.watch(loop)
        bench.scan(at: at(170))
        #expect(bench.takeReported().map(\.phase) == [.abandoned])
        bench.run(until: at(400))
        loop.move(to: .waiting, at: at(410))
        bench.scan(at: at(410))
        #expect(bench.takeReported().map(\.since) == [start])
    }

    @Test(arguments: [false, true])
    func `a process pause right before the end of a watch causes no stall`(all: Bool) throws {
        var rules = WatchRules.standard
        rules.starvationNanoseconds = 400 * millisecond
        rules.frame = WatchRules.Frame(periodNanoseconds: 50 * millisecond, missed: 3)
        let loop = FakeLoop()
        let (bench, index) = try working(loop, until: 60, rules: rules)
        loop.move(to: .beforeTimers, at: at(5000))
        let processPause = ProcessPause(from: at(60), to: at(5000))
        bench.clock.now = at(5001)
        if all {
            bench.watchdog.endAll(processPause)
        } else {
            #expect(bench.registry.end(loop, of: bench.owner))
            bench.scan(at: at(5001), processPause: processPause)
        }
        #expect(bench.counters(index) == WatchCounters())
        #expect(bench.takeReported().isEmpty)
    }

    @Test func `a process pause right before a pause is subtracted`() throws {
        let loop = FakeLoop()
        let (bench, _) = try working(loop, until: 200)
        bench.registry.setPaused(true, nil, of: bench.owner, now: at(5000))
        bench.scan(at: at(5000), processPause: ProcessPause(from: at(200), to: at(5000)))
        #expect(bench.takeReported().map(\.interval.length) == [200 * millisecond])
    }
}
