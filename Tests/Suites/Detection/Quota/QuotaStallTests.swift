internal import LagActivity
internal import LagModel
import Testing

@testable import LagDetection

/// A quota delays the watchdog together with the loops: what it finds when all of them continue.
struct QuotaStallTests {
    private let start: UInt64 = 1000 * millisecond

    /// Throttled until `time`: the watchdog's wait ends that late, and all of the delay was run delay.
    private func throttle(_ bench: WatchdogBench, until time: UInt64) {
        let (begun, due) = (bench.clock.now, bench.plan.deadline)
        var lateness = LatenessGuard()
        let evidence = LatenessGuard.Evidence(runDelayNanoseconds: time.saturatingDifference(due))
        bench.scan(at: time, processPause: lateness.evaluate(from: begun, due: due, endedAt: time, evidence: { evidence }))
    }

    @Test func `a callout of 20 ms that takes 300 ms is a stall of 300 ms`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        let begin = start + 10 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        bench.scan(at: begin)
        // Periods of 100 ms, of which 5 ms remain to run in.
        for period in 1...2 as ClosedRange<UInt64> {
            throttle(bench, until: start + period * 100 * millisecond)
            bench.run(until: start + (period * 100 + 5) * millisecond)
        }
        throttle(bench, until: start + 300 * millisecond)
        loop.move(to: .waiting, at: start + 310 * millisecond)
        bench.scan(at: start + 310 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.count == 1 && bench.counters(index).stalls == 1)
        #expect(reported.first?.since == begin && reported.first?.until == start + 310 * millisecond)
        #expect(reported.first?.interval.length == 300 * millisecond && reported.first?.interval.excluded == 0)
    }

    /// Even if it is over before the watchdog runs: the beacon has its times.
    @Test func `a callout that a single throttling delays is a stall`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        _ = bench.watch(loop)
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        loop.move(to: .beforeTimers, at: start + 980 * millisecond)
        throttle(bench, until: start + 980 * millisecond + 50_000)
        let reported = bench.takeReported()
        #expect(reported.map(\.interval.length) == [980 * millisecond])
    }

    @Test func `a waiting loop is not stalled, however late the watchdog is`() throws {
        let bench = try WatchdogBench()
        let (idle, busy) = (FakeLoop(name: "idle"), FakeLoop(name: "busy"))
        let index = bench.watch(idle)
        _ = bench.watch(busy, rules: .callouts(TimeoutRule(intervalNanoseconds: 50 * millisecond, timeouts: 1000)))
        idle.move(to: .waiting, at: start)
        busy.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        for period in 1...20 as ClosedRange<UInt64> {
            throttle(bench, until: start + period * 500 * millisecond)
            bench.run(until: start + (period * 500 + 2) * millisecond)
        }
        #expect(bench.counters(index) == WatchCounters())
        #expect(bench.takeReported().allSatisfy { $0.watch != index })
    }

    /// It was woken late, and works for a short time: the time before it woke does not belong to a callout.
    @Test func `a loop that wakes late because of the quota is not stalled`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        for round in 1...10 as ClosedRange<UInt64> {
            let resumed = start + round * 1000 * millisecond
            loop.move(to: .afterWaiting, at: resumed)
            throttle(bench, until: resumed + 100_000)
            bench.run(until: resumed + 20 * millisecond)
            loop.move(to: .waiting, at: resumed + 20 * millisecond)
            bench.run(until: resumed + 100 * millisecond)
        }
        #expect(bench.counters(index) == WatchCounters())
    }

    @Test func `throttled time is counted once a second while a loop works, separately from pauses`() throws {
        let tree = try FakeTree(
            cgroup: "0::/a\n",
            mountinfo: "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            files: ["/sys/fs/cgroup/a/cpu.stat.local": "throttled_usec 1000\n"]
        )
        let bench = try WatchdogBench(throttling: ThrottleSource(root: tree.root))
        let loop = FakeLoop()
        _ = bench.watch(loop, rules: .callouts(hang: .max))
        loop.move(to: .beforeSources, at: start)
        bench.scan(at: start)
        #expect(bench.watchdog.processPauses == ProcessPauses())
        try tree.write("throttled_usec 301000\n", to: "/sys/fs/cgroup/a/cpu.stat.local")
        bench.run(until: start + 1000 * millisecond)
        #expect(bench.watchdog.processPauses.throttledNanoseconds == 0)
        bench.run(until: start + 1100 * millisecond)
        var expected = ProcessPauses()
        expected.throttledNanoseconds = 300 * millisecond
        #expect(bench.watchdog.processPauses == expected)
        #expect(bench.watchdog.services.throttles.previous?.time == start)
    }
}
