internal import LagActivity
import LagCapture
import Testing

@testable import LagDetection

/// What a sequence of polls does, with simulated beacons.
struct WatchdogScanTests {
    private let start: UInt64 = 1000 * millisecond

    @Test func `a watchdog without watches parks`() throws {
        let bench = try WatchdogBench()
        #expect(bench.scan(at: start) == Watchdog.Plan(deadline: .max, wantsPosts: true))
    }

    @Test func `sleeping loops are armed and not polled`() throws {
        let bench = try WatchdogBench()
        let loops = (0..<3).map { _ in FakeLoop() }
        for loop in loops {
            _ = bench.watch(loop)
            loop.move(to: .waiting, at: start)
        }
        bench.scan(at: start)
        // A loop that changed gets one more tick before the park.
        #expect(bench.plan.deadline == start + 50 * millisecond)
        bench.run(until: start + 50 * millisecond)
        #expect(bench.plan == Watchdog.Plan(deadline: .max, wantsPosts: true))
        #expect(loops.allSatisfy { $0.isArmed })
        #expect(loops[1].move(to: .afterWaiting, at: start + 77 * millisecond))
    }

    @Test func `a stall is found exactly at the threshold and ends with its stretch`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        bench.run(until: start + 60 * millisecond)
        let begin = start + 77 * millisecond + 123
        #expect(loop.move(to: .afterWaiting, at: begin))
        bench.scan(at: begin)
        let polls = bench.run(until: begin + 150 * millisecond)
        #expect(polls.last == begin + 150 * millisecond)
        #expect(bench.plan.wantsPosts && bench.plan.isClose)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        #expect(bench.takeReported().isEmpty)
        let end = begin + 180 * millisecond + 7
        #expect(loop.move(to: .waiting, at: end))
        bench.scan(at: end + 20_000)
        let reported = bench.takeReported()
        #expect(reported.count == 1)
        #expect(reported.first?.phase == .end && reported.first?.since == begin && reported.first?.until == end)
        #expect(reported.first?.activity == .afterWaiting)
        #expect(reported.first?.failure == .threadUnknown)
        #expect(!bench.plan.isClose)
        bench.run(until: end + 1000 * millisecond)
        #expect(bench.plan.deadline == .max)
        #expect(bench.takeReported().isEmpty)
    }

    /// A busy loop with a slow rule keeps the watchdog from parking; it must not hide a loop with a fast rule.
    @Test func `a busy loop with a slow rule hides no stall of a loop with a fast rule`() throws {
        let bench = try WatchdogBench()
        let (busy, other) = (FakeLoop(), FakeLoop())
        _ = bench.watch(busy, rules: WatchRules.callouts(TimeoutRule(intervalNanoseconds: 1000 * millisecond, timeouts: 3)))
        let index = bench.watch(other)
        other.move(to: .waiting, at: start)
        busy.move(to: .beforeTimers, at: start)
        bench.scan(at: start)
        bench.run(until: start + 100 * millisecond)
        // The whole stall is between two ticks of the slow rule.
        other.move(to: .afterWaiting, at: start + 200 * millisecond)
        bench.run(until: start + 690 * millisecond)
        other.move(to: .waiting, at: start + 700 * millisecond)
        bench.run(until: start + 1200 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    /// A stretch seen by a fast poll keeps the beginning in its beacon, even if that is after the beginning of the round of
    /// polls.
    @Test func `a stretch that begins during a round of polls is not backdated`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        let begin = start + 45 * millisecond
        loop.move(to: .beforeTimers, at: begin)
        // The round began before the stretch did, as can happen when another loop is captured in it.
        bench.scan(at: start)
        bench.run(until: begin + 149 * millisecond)
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: begin + 160 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    @Test func `a stretch one nanosecond below the threshold is not a stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .entry, at: start)
        bench.scan(at: start)
        bench.run(until: start + 150 * millisecond - 1)
        loop.move(to: .waiting, at: start + 150 * millisecond - 1)
        bench.run(until: start + 400 * millisecond)
        #expect(bench.counters(index) == WatchCounters())
    }

    @Test(arguments: [0, 1, 25_000_000, 49_999_999] as [UInt64])
    func `a stall is found at the threshold, wherever between two ticks it begins`(offset: UInt64) throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let other = FakeLoop()
        let index = bench.watch(loop)
        _ = bench.watch(other)
        // The other loop keeps the watchdog ticking, so that no loop posts.
        other.move(to: .beforeTimers, at: start)
        loop.move(to: .beforeTimers, at: start)
        bench.scan(at: start)
        let begin = start + 50 * millisecond + offset
        while bench.plan.deadline <= begin {
            other.move(to: .beforeTimers, at: bench.plan.deadline)
            loop.move(to: .beforeTimers, at: bench.plan.deadline)
            bench.scan(at: bench.plan.deadline)
        }
        loop.move(to: .beforeSources, at: begin)
        while bench.counters(index).stalls == 0, bench.clock.now < begin + 1000 * millisecond {
            let next = max(bench.plan.deadline, bench.clock.now)
            other.move(to: .beforeTimers, at: next)
            bench.scan(at: next)
        }
        #expect(bench.clock.now == begin + 150 * millisecond)
    }

    @Test func `a hang is reported with the same identity as its end`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop, rules: WatchRules.callouts(hang: 400 * millisecond))
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        #expect(bench.run(until: start + 400 * millisecond).last == start + 400 * millisecond)
        let begun = try #require(bench.takeReported().first)
        #expect(begun.phase == .begin && begun.since == start && begun.until == start + 400 * millisecond)
        bench.run(until: start + 900 * millisecond)
        #expect(bench.takeReported().isEmpty)
        loop.move(to: .waiting, at: start + 901 * millisecond)
        bench.scan(at: start + 901 * millisecond)
        let ended = try #require(bench.takeReported().first)
        #expect(ended.phase == .end && ended.until == start + 901 * millisecond && ended.random == begun.random)
    }

    @Test func `a hang that is reported at once causes no busy polling`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop, rules: WatchRules.callouts(hang: 0))
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        let polls = bench.run(until: start + 1000 * millisecond)
        // Once per interval; more often while it is suspected and not yet reported.
        #expect(polls.count <= 40)
        #expect(bench.takeReported().map(\.phase) == [.begin])
    }

    @Test func `two watches of one loop each follow their own rule`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let second = FakeOwner()
        let slow = WatchRules.callouts(TimeoutRule(intervalNanoseconds: 100 * millisecond, timeouts: 4))
        let first = bench.watch(loop)
        let other = try #require(bench.registry.add(loop, name: "slow", owner: second, rules: slow))
        #expect(first != other)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 399 * millisecond)
        #expect(bench.counters(first).stalls == 1 && bench.counters(other).stalls == 0)
        bench.run(until: start + 400 * millisecond)
        #expect(bench.counters(other).stalls == 1)
        // One of the two watches ends: the other's arming must remain.
        #expect(bench.registry.end(loop, of: bench.owner))
        bench.scan(at: start + 410 * millisecond)
        #expect(loop.move(to: .waiting, at: start + 420 * millisecond))
        bench.scan(at: start + 420 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.abandoned, .end])
        #expect(reported.map(\.watch) == [first, other])
        #expect(reported.last?.until == start + 420 * millisecond)
    }

    @Test func `without a free episode the length is still right, and the loss is counted`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop, rules: WatchRules.callouts(hang: 300 * millisecond))
        var taken: [Int] = []
        while let episode = bench.queue.takeFree() { taken.append(episode) }
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 310 * millisecond)
        // The line of the hang is lost.
        #expect(bench.counters(index) == WatchCounters(stalls: 1, dropped: 1))
        for episode in taken { bench.queue.giveFree(episode) }
        loop.move(to: .waiting, at: start + 333 * millisecond)
        bench.scan(at: start + 333 * millisecond)
        let reported = try #require(bench.takeReported().first)
        #expect(reported.since == start && reported.until == start + 333 * millisecond)
        #expect(reported.failure == .noFreeSlot && reported.activity == .beforeSources)
    }

    @Test func `without a free episode at the end the line is lost`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        while bench.queue.takeFree() != nil {}
        bench.stall(loop, from: start)
        loop.move(to: .waiting, at: start + 210 * millisecond)
        bench.scan(at: start + 210 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1, dropped: 1))
        #expect(bench.takeReported().isEmpty)
    }

    @Test func `the stack of a thread that moved on is not kept`() throws {
        let bench = try WatchdogBench()
        // A real thread number, so that a capture is tried: the current thread may not capture itself, and a finished one is
        // gone.
        let loop = FakeLoop(thread: ThreadIdentity(tid: .max, stackLow: 0, stackHigh: 0))
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 160 * millisecond)
        loop.move(to: .waiting, at: start + 170 * millisecond)
        bench.scan(at: start + 170 * millisecond)
        #expect(bench.takeReported().first?.failure == .threadGone)
    }

    @Test func `a process pause causes no stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.run(until: start + 100 * millisecond)
        // Ten seconds later the watchdog wakes, and so does the loop, which needs 30 ms more.
        let resumed = start + 10_100 * millisecond
        bench.scan(at: resumed, processPause: ProcessPause(from: start + 100 * millisecond, to: resumed))
        bench.run(until: resumed + 30 * millisecond)
        loop.move(to: .waiting, at: resumed + 30 * millisecond)
        bench.run(until: resumed + 1000 * millisecond)
        #expect(bench.counters(index) == WatchCounters())
    }

    /// The poll gap is the uncertainty of a stop's length; but a long stall costs no more wakes than any work.
    @Test func `a suspected loop is polled closely`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop, rules: .callouts(hang: 1000 * millisecond))
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        #expect(!bench.plan.isClose && bench.plan.deadline == start + 50 * millisecond)
        bench.run(until: start + 50 * millisecond)
        #expect(bench.plan.isClose)
        let close = bench.run(until: start + 900 * millisecond)
        #expect(zip(close, close.dropFirst()).allSatisfy { $1 - $0 <= Watchdog.suspicionPollNanoseconds })
        bench.run(until: start + 1000 * millisecond)
        #expect(!bench.plan.isClose)
        #expect(bench.run(until: start + 10_000 * millisecond).count <= 181)
    }

    @Test func `late polls cause no busy polling`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(
            loop,
            rules: WatchRules.callouts(TimeoutRule(intervalNanoseconds: 50 * millisecond, timeouts: 1), hang: .max)
        )
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        bench.scan(at: start + 500 * millisecond, processPause: ProcessPause(from: start, to: start + 500 * millisecond))
        // Polls are close while a process pause may still affect the length of a stall.
        let closest = Int(500 * millisecond / Watchdog.suspicionPollNanoseconds)
        #expect(bench.run(until: start + 1000 * millisecond).count <= closest)
        #expect(bench.counters(0).stalls == 1)
    }

    @Test func `a loop that wakes while the watchdog parks is polled soon`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        bench.scan(at: start + 50 * millisecond)
        #expect(bench.plan.deadline == .max)
        // The arming triggers the post: it remains until it is answered.
        #expect(loop.isArmed)
        bench.scan(at: start + 51 * millisecond)
        #expect(bench.plan.deadline == .max && loop.isArmed)
    }
}
