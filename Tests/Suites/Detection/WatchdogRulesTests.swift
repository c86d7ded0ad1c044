internal import CLagBeacon
import Glibc
internal import LagActivity
import LagCapture
internal import LagModel
import Synchronization
import Testing

@testable import LagDetection

/// Rules other than callout, with the watchdog's own polls.
struct WatchdogRulesTests {
    private let start: UInt64 = 1000 * millisecond

    private func at(_ time: UInt64) -> UInt64 { start + time * millisecond }

    private func rules(_ change: (inout WatchRules) -> Void) -> WatchRules {
        var rules = WatchRules()
        change(&rules)
        return rules
    }

    @Test(arguments: [false, true])
    func `a stall of an idle loop that never answers is found`(whileWaiting: Bool) throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(
            loop,
            rules: rules { if whileWaiting { $0.pingWhileWaiting = standardRule } else { $0.ping = standardRule } }
        )
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        #expect(loop.pings == 1)
        let polls = bench.run(until: at(149))
        #expect(bench.counters(index) == WatchCounters() && polls.count < 30)
        bench.run(until: at(150))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.pong(at: at(200))
        bench.run(until: at(260))
        let reported = bench.takeReported()
        #expect(reported.map(\.kinds) == [[.ping]] && reported.first?.since == start && reported.first?.until == at(200))
        #expect(reported.first?.threshold == 150 * millisecond && reported.first?.activity == .waiting)
    }

    /// No thread works for it any more, or its thread is unknown: that is no reason to poll again at once, repeatedly.
    @Test func `a loop whose thread is lost is not polled more often`() throws {
        let bench = try WatchdogBench()
        let loop = FakeUnpinnedLoop(on: getpid())
        let index = bench.watch(loop, rules: rules { $0.ping = standardRule })
        bench.scan(at: start)
        bench.run(until: at(200))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.presentThread = 0
        #expect(bench.run(until: at(3000)).count < 400)
        loop.presentThread = getpid()
        #expect(bench.run(until: at(6000)).count < 400)
        clb_beacon_pong(loop.beacon.raw, at(6000))
        bench.run(until: at(6100))
        #expect(bench.takeReported().map(\.phase) == [.begin, .end])
    }

    @Test func `a loop that answers is pinged once per interval and never reported`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop, rules: rules { $0.ping = standardRule })
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        var answered = 0
        while bench.clock.now < at(10_000) {
            #expect(bench.plan.deadline < .max)
            if loop.pings > answered {
                answered = loop.pings
                loop.pong(at: bench.clock.now + 10_000)
            }
            bench.scan(at: max(bench.plan.deadline, bench.clock.now + 20_000))
        }
        #expect(bench.counters(index) == WatchCounters())
        #expect((90...210).contains(loop.pings))
    }

    /// A ping that takes a lock is not sent on the watchdog's thread; and nothing counts until it is sent.
    @Test func `a loop whose pings take a lock is pinged by the relay`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop(pingsWithoutLocking: false)
        let index = bench.watch(loop, rules: rules { $0.ping = standardRule })
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        let polls = bench.run(until: at(2000))
        #expect(loop.pings == 0 && bench.counters(index) == WatchCounters())
        // No busy polling while the relay is slow.
        #expect((20...60).contains(polls.count))
        bench.registry.coldParts[index].pingedNanoseconds.store(at(2000), ordering: .releasing)
        bench.run(until: at(2149))
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: at(2150))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    @Test func `no stall is found by pings of a loop that cannot be pinged`() throws {
        let bench = try WatchdogBench()
        let loop = UnpingableLoop()
        let index = bench.watch(loop, rules: rules { $0.ping = standardRule })
        loop.beacon.publish(.waiting)
        bench.scan(at: start)
        bench.run(until: at(5000))
        #expect(bench.counters(index) == WatchCounters())
    }

    @Test func `a stall of a queue that publishes nothing is found by pings`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop, rules: rules { $0.ping = standardRule })
        bench.scan(at: start)
        bench.run(until: at(150))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    @Test func `missed ticks of an idle loop are found`() throws {
        let bench = try WatchdogBench()
        let (loop, cell) = (FakeLoop(), TickCell())
        let index = bench.watch(
            loop,
            rules: rules { $0.frame = WatchRules.Frame(periodNanoseconds: 20 * millisecond, missed: 5) },
            ticks: cell
        )
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        for tick in stride(from: UInt64(20), through: 1000, by: 20) {
            bench.run(until: at(tick) - 1)
            cell.tick(at: at(tick))
        }
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: at(1120))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        cell.tick(at: at(1150))
        bench.run(until: at(1200))
        let reported = try #require(bench.takeReported().first)
        #expect(reported.kinds == [.frame] && reported.since == at(1020) && reported.interval.lengthAtMost == 150 * millisecond)
    }

    @Test func `a starved loop is armed for its rest, and the stall ends exactly there`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        var rules = WatchRules.standard
        rules.starvationNanoseconds = 400 * millisecond
        let index = bench.watch(loop, rules: rules)
        loop.move(to: .waiting, at: start - 1)
        bench.scan(at: start - 1)
        for time in stride(from: UInt64(0), to: 600, by: 3) {
            let posted = loop.move(to: .beforeTimers, at: at(time))
            #expect(!posted || bench.counters(index).stalls == 0)
            bench.run(until: at(time) + 2 * millisecond)
        }
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        #expect(loop.armed == UInt32(CLB_ARMED_REST))
        let rest = at(600) + 7
        #expect(loop.move(to: .waiting, at: rest))
        bench.scan(at: rest + millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kinds) == [[.starvation]])
        #expect(reported.first?.since == start && reported.first?.until == rest)
    }

    @Test func `the start time of a stall is that of the leading rule`() throws {
        let bench = try WatchdogBench(at: clb_now_ns())
        let loop = FakeLoop()
        var rules = WatchRules.callouts(hang: .max)
        rules.starvationNanoseconds = 400 * millisecond
        _ = bench.watch(loop, rules: rules)
        let begin = bench.clock.now
        bench.scan(at: begin)
        for step in 0..<7 as Range<UInt64> {
            loop.move(to: .beforeTimers, at: begin + step * 50 * millisecond)
            bench.run(until: begin + (step + 1) * 50 * millisecond - 1)
        }
        // Found as a starvation that began 350 ms before the callout that it turns out to be.
        loop.move(to: .beforeSources, at: begin + 350 * millisecond)
        bench.run(until: begin + 600 * millisecond)
        loop.move(to: .waiting, at: begin + 601 * millisecond)
        bench.scan(at: begin + 601 * millisecond)
        let reported = try #require(bench.takeReported().first)
        #expect(reported.kinds == [.callout] && reported.since == begin + 350 * millisecond)
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        let offset = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec) - Int64(clb_now_ns())
        // Times in the future of the real clock count as now: the poll was at most that much ago. The two clocks are read one
        // after the other, here and in the product, and may therefore be about 10 ns apart.
        #expect(reported.startRealtime - offset + 1_000 >= Int64(begin) + 350 * Int64(millisecond))
    }

    @Test func `a muted stall is counted by the watchdog`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop, rules: .callouts(restore: 5000 * millisecond))
        for round in 0..<3 as Range<UInt64> {
            loop.move(to: .beforeSources, at: at(round * 1000))
            bench.scan(at: at(round * 1000))
            bench.run(until: at(round * 1000 + 200))
            loop.move(to: .waiting, at: at(round * 1000 + 210))
            bench.scan(at: at(round * 1000 + 210))
        }
        #expect(bench.counters(index) == WatchCounters(stalls: 1, suppressed: 2))
        #expect(bench.takeReported().map(\.since) == [start])
    }

    @Test func `a stretch that begins in the startup grace counts only from its end`() throws {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        var rules = WatchRules.standard
        rules.graceNanoseconds = 1000 * millisecond
        let index = bench.watch(loop, rules: rules, now: start)
        loop.move(to: .beforeSources, at: start)
        // The poll began before the watch did.
        bench.scan(at: start - millisecond)
        bench.run(until: at(1149))
        #expect(bench.counters(index) == WatchCounters())
        bench.run(until: at(1151))
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }
}
