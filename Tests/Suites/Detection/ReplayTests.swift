internal import LagActivity
import LagCapture
internal import LagModel
import Testing

@testable import LagDetection

/// Stalls that were over before the watchdog polled: the loop itself has recorded them.
struct ReplayTests {
    private let start: UInt64 = 1000 * millisecond

    private func parked(_ rules: WatchRules = WatchRules.standard) throws -> (WatchdogBench, FakeLoop, Int) {
        let bench = try WatchdogBench()
        let loop = FakeLoop()
        let index = bench.watch(loop, rules: rules)
        loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        bench.run(until: start + 100 * millisecond)
        #expect(bench.plan.deadline == .max)
        return (bench, loop, index)
    }

    @Test func `a stall between two polls is reported with its times and without a stack`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        loop.move(to: .waiting, at: begin + 170 * millisecond)
        bench.scan(at: begin + 400 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.count == 1)
        #expect(reported.first?.since == begin && reported.first?.until == begin + 170 * millisecond)
        #expect(reported.first?.failure == .loopMovedOn && reported.first?.phase == .end)
        #expect(bench.counters(index).stalls == 1)
    }

    @Test func `a stretch one nanosecond below the threshold is not a stall`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        loop.move(to: .waiting, at: begin + 150 * millisecond - 1)
        bench.scan(at: begin + 400 * millisecond)
        #expect(bench.takeReported().isEmpty && bench.counters(index).stalls == 0)
    }

    @Test func `several recorded stalls are reported in order`() throws {
        let (bench, loop, _) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        loop.move(to: .beforeTimers, at: begin + 200 * millisecond)
        loop.move(to: .beforeSources, at: begin + 210 * millisecond)
        loop.move(to: .waiting, at: begin + 400 * millisecond)
        bench.scan(at: begin + 500 * millisecond)
        #expect(bench.takeReported().map { $0.until - $0.since } == [200 * millisecond, 190 * millisecond])
    }

    @Test(arguments: [3, 4, 5, 9, 40]) func `recorded stalls beyond the capacity are counted as lost`(count: Int) throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        for number in 1...count {
            loop.move(to: number % 2 == 0 ? .beforeTimers : .beforeSources, at: begin + UInt64(number) * 200 * millisecond)
        }
        loop.move(to: .waiting, at: begin + (UInt64(count) * 200 + 1) * millisecond)
        bench.scan(at: begin + UInt64(count) * 200 * millisecond + 100 * millisecond)
        let reported = bench.takeReported().count
        let counters = bench.counters(index)
        #expect(reported == min(count, 3), "the ring has four places, one of which may be written")
        #expect(counters.stalls == UInt64(count) && counters.dropped == UInt64(count - reported), "\(counters)")
    }

    @Test func `a stall in progress is not also counted as lost`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        bench.stall(loop, from: begin, in: .afterWaiting)
        for number: UInt64 in 1...6 {
            loop.move(to: number % 2 == 0 ? .beforeTimers : .beforeSources, at: begin + (100 + number * 200) * millisecond)
        }
        loop.move(to: .waiting, at: begin + 1301 * millisecond)
        bench.scan(at: begin + 1400 * millisecond)
        let reported = bench.takeReported().count
        let counters = bench.counters(index)
        #expect(counters.stalls == 6 && counters.dropped == UInt64(6 - reported), "\(reported) \(counters)")
    }

    @Test func `a recorded stall after a stall in progress is another stall`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        bench.stall(loop, from: begin, in: .afterWaiting)
        #expect(bench.counters(index).stalls == 1)
        loop.move(to: .beforeTimers, at: begin + 210 * millisecond)
        loop.move(to: .waiting, at: begin + 410 * millisecond)
        bench.scan(at: begin + 420 * millisecond)
        #expect(bench.takeReported().map { $0.until - $0.since } == [210 * millisecond, 200 * millisecond])
        #expect(bench.counters(index).stalls == 2)
    }

    @Test func `a stall that the watchdog found is not reported twice`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        bench.stall(loop, from: begin, in: .afterWaiting)
        #expect(bench.counters(index).stalls == 1)
        loop.move(to: .waiting, at: begin + 210 * millisecond)
        bench.scan(at: begin + 211 * millisecond)
        bench.run(until: begin + 1000 * millisecond)
        #expect(bench.takeReported().count == 1 && bench.counters(index).stalls == 1)
    }

    /// The poll that finds it over began before its end.
    @Test func `a stall that ends during the round of polls is reported`() throws {
        let (bench, loop, _) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        loop.move(to: .waiting, at: begin + 200 * millisecond)
        bench.scan(at: begin + 199 * millisecond)
        #expect(bench.takeReported().map { $0.until - $0.since } == [200 * millisecond])
    }

    @Test func `a process pause does not count in a recorded stall`() throws {
        let (bench, loop, index) = try parked()
        let begin = start + 300 * millisecond
        loop.move(to: .afterWaiting, at: begin)
        loop.move(to: .waiting, at: begin + 1100 * millisecond)
        let processPause = ProcessPause(
            from: begin + 50 * millisecond,
            to: begin + 1080 * millisecond,
            atLeast: 1000 * millisecond,
            atMost: 1030 * millisecond
        )
        bench.scan(at: begin + 1101 * millisecond, processPause: processPause)
        #expect(bench.takeReported().isEmpty && bench.counters(index).stalls == 0)
    }

    @Test func `a recorded stall in the restore interval is only counted`() throws {
        var rules = WatchRules.standard
        rules.restoreNanoseconds = 5000 * millisecond
        let (bench, loop, index) = try parked(rules)
        let begin = start + 300 * millisecond
        for offset: UInt64 in [0, 400] {
            loop.move(to: .afterWaiting, at: begin + offset * millisecond)
            loop.move(to: .waiting, at: begin + (offset + 200) * millisecond)
            bench.scan(at: begin + (offset + 300) * millisecond)
        }
        #expect(bench.takeReported().count == 1)
        #expect(bench.counters(index) == WatchCounters(stalls: 1, suppressed: 1))
    }

    @Test func `a recorded callout stall ends the starvation around it`() throws {
        var rules = WatchRules.standard
        rules.starvationNanoseconds = 400 * millisecond
        let (bench, loop, _) = try parked(rules)
        let begin = start + 300 * millisecond
        // Short callouts until the starvation is found, then one long one that is not polled.
        bench.starve(loop, from: begin, callouts: 50)
        loop.move(to: .beforeTimers, at: begin + 505 * millisecond)
        loop.move(to: .waiting, at: begin + 705 * millisecond)
        bench.scan(at: begin + 800 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.starvation, .callout], "\(reported)")
        #expect(reported.first?.until == begin + 505 * millisecond)
        #expect(reported.last?.since == begin + 505 * millisecond && reported.last?.until == begin + 705 * millisecond)
    }

    /// The starvation threshold was reached within the callout that was not polled: it is that callout.
    @Test func `a starvation that a recorded callout completed is not reported`() throws {
        var rules = WatchRules.standard
        rules.starvationNanoseconds = 400 * millisecond
        let (bench, loop, index) = try parked(rules)
        let begin = start + 300 * millisecond
        bench.starve(loop, from: begin, callouts: 35)
        // The callout begins at 350 ms; the watchdog polls at 410 ms, and then only after it is over.
        bench.scan(at: begin + 410 * millisecond)
        bench.scan(at: begin + 410 * millisecond)
        loop.move(to: .waiting, at: begin + 600 * millisecond)
        bench.scan(at: begin + 700 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.callout], "\(reported)")
        #expect(reported.first?.kinds == [.callout] && reported.first?.since == begin + 350 * millisecond)
        #expect(bench.counters(index).stalls == 1)
    }
}
