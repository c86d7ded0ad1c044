internal import LagActivity
import Synchronization
import Testing

@testable import LagDetection

/// A loop of another process; its examination results are set by the test.
private final class FakeExaminableLoop: ExaminableLoop {
    let loop = FakeLoop()
    private let found = Mutex(LoopExamination(work: .none))
    private let count = Atomic<Int>(0)

    var beacon: ActivityBeacon { loop.beacon }
    var thread: ThreadIdentity { loop.thread }
    var name: String { loop.name }

    func recordRest(at now: UInt64) {}
    func examine(at now: UInt64) -> LoopExamination {
        count.add(1, ordering: .relaxed)
        return found.withLock { $0 }
    }

    let waits: PublishedWaits
    private let exited = Atomic<UInt64>(.max)
    func hasExited(since begin: UInt64) -> Bool { begin >= exited.load(ordering: .relaxed) }

    init(waits: PublishedWaits = .rests) { self.waits = waits }

    /// By itself, unless its stall began before that.
    func exit(earliest begin: UInt64 = 0) { exited.store(begin, ordering: .relaxed) }

    var examinations: Int { count.load(ordering: .relaxed) }
    func find(isQuiet: Bool, isResting: Bool = false, isOver: Bool = false, _ work: PendingWork) {
        found.withLock { $0 = LoopExamination(isQuiet: isQuiet, isResting: isResting, isOver: isOver, work: work) }
    }
    func close() { found.withLock { $0 = LoopExamination(isQuiet: true, mayBeOver: true, work: .unknown) } }
}

/// How the watchdog handles loops that can be examined, with simulated beacons.
struct ExaminationTests {
    private let start: UInt64 = 1000 * millisecond

    private func begin(_ loop: FakeExaminableLoop, _ bench: WatchdogBench) -> Int {
        let index = bench.watch(loop)
        loop.loop.move(to: .waiting, at: start)
        bench.scan(at: start)
        bench.run(until: start + 60 * millisecond)
        loop.loop.move(to: .afterWaiting, at: start + 60 * millisecond)
        bench.scan(at: start + 60 * millisecond)
        return index
    }

    @Test func `a quiet loop is not a stall, and is examined less and less often`() throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 10_000 * millisecond)
        let examinations = loop.examinations
        bench.run(until: start + 110_000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
        // Finally, once a second.
        #expect((95...105).contains(loop.examinations - examinations), "\(loop.examinations - examinations)")
        #expect(loop.loop.isArmed)
        // Its own records are not a stall either.
        loop.loop.move(to: .waiting, at: start + 110_000 * millisecond)
        bench.run(until: start + 111_000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
        #expect(bench.plan.deadline == .max)
    }

    @Test func `a quiet loop with pending work is stalled from the time the work was found`() throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 5000 * millisecond)
        loop.find(isQuiet: false, .pending)
        bench.run(until: start + 12_000 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.loop.move(to: .waiting, at: start + 12_000 * millisecond)
        bench.scan(at: start + 12_000 * millisecond)
        // Long enough for a line during the stall.
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.begin, .end], "\(reported)")
        // The examinations are up to an eighth of five seconds apart.
        let looked = start + 5000 * millisecond...start + 5700 * millisecond
        #expect(reported.allSatisfy { looked.contains($0.since) }, "\(reported)")
    }

    @Test(arguments: [false, true])
    func `a rest ends a stall, and the end of the loop dismisses it`(isOver: Bool) throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: false, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 600 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.find(isQuiet: true, isOver: isOver, .none)
        bench.run(until: start + 2000 * millisecond)
        #expect(bench.counters(index).dismissed == (isOver ? 1 : 0))
        #expect(bench.takeReported().map(\.phase) == [isOver ? .dismissed : .end])
    }

    /// What a sampled loop waits on is closed in a stall.
    private func close(_ continues: (FakeExaminableLoop, WatchdogBench) -> Void) throws -> [WatchdogBench.ReportedStall] {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop(waits: .samples)
        loop.find(isQuiet: false, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 600 * millisecond)
        loop.close()
        bench.run(until: start + 2000 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1) && bench.takeReported().isEmpty)
        continues(loop, bench)
        let reported = bench.takeReported()
        #expect(bench.counters(index).dismissed == (reported.first?.phase == .dismissed ? 1 : 0))
        // Its end is when that was found to be closed.
        let closed = start + 600 * millisecond...start + 700 * millisecond
        #expect(reported.count == 1 && reported.allSatisfy { closed.contains($0.until) }, "\(reported)")
        return reported
    }

    @Test(arguments: [true, false])
    func `a stall in which the loop is closed is dismissed if its process exits next`(isRegular: Bool) throws {
        let reported = try close { loop, bench in
            if isRegular { loop.exit() }
            loop.loop.beacon.publish(.finished)
            bench.scan(at: start + 2010 * millisecond)
        }
        #expect(reported.map(\.phase) == [isRegular ? .dismissed : .end])
    }

    @Test(arguments: [false, true])
    func `a stall in which the loop is closed is reported if its thread waits again`(exits: Bool) throws {
        let reported = try close { loop, bench in
            loop.loop.move(to: .waiting, at: start + 2010 * millisecond)
            if exits {
                loop.exit()
                loop.loop.beacon.publish(.finished)
            }
            bench.run(until: start + 3100 * millisecond)
        }
        #expect(reported.map(\.phase) == [.end])
    }

    @Test func `a stall in which the loop is closed is reported if its process goes on for long`() throws {
        let reported = try close { _, bench in
            bench.run(until: start + 9000 * millisecond)
            #expect(bench.takeReported().isEmpty)
            bench.run(until: start + 12_000 * millisecond)
        }
        #expect(reported.map(\.phase) == [.end])
    }

    @Test(arguments: [true, false])
    func `a stall in which the loop is closed is settled when the watch ends`(exits: Bool) throws {
        let reported = try close { loop, bench in
            if exits { loop.exit() }
            bench.watchdog.endAll()
        }
        #expect(reported.map(\.phase) == [exits ? .dismissed : .end])
    }

    @Test(arguments: [19, 21]) func `the end of a process is related to the stall, not to the rest before it`(earliest: UInt64)
        throws
    {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop(waits: .samples)
        loop.find(isQuiet: true, isResting: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 20_000 * millisecond)
        loop.find(isQuiet: false, .none)
        bench.run(until: start + 20_600 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
        loop.exit(earliest: start + earliest * 1000 * millisecond)
        loop.loop.beacon.publish(.finished)
        bench.scan(at: start + 20_610 * millisecond)
        #expect(bench.takeReported().map(\.phase) == [earliest < 20 ? .dismissed : .end])
    }

    /// Like a loop within a handler: at rest for a long time, and working now and then.
    @Test func `short work of a loop that was quiet for long is not a stall, longer work is`() throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: true, isResting: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 60_000 * millisecond)
        for moment in 0..<20 as Range<UInt64> {
            let begun = start + (60_000 + moment * 200) * millisecond
            loop.find(isQuiet: false, .none)
            bench.run(until: begun + 80 * millisecond)
            loop.find(isQuiet: true, isResting: true, .none)
            bench.run(until: begun + 200 * millisecond)
        }
        #expect(bench.counters(index) == WatchCounters())
        loop.find(isQuiet: false, .none)
        bench.run(until: start + 64_250 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }

    /// The gap between examinations of one rest must not hide what follows.
    @Test func `work after a quiet time is examined at the initial rate`() throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 60_000 * millisecond)
        loop.loop.move(to: .waiting, at: start + 60_000 * millisecond)
        bench.scan(at: start + 60_000 * millisecond)
        loop.loop.move(to: .afterWaiting, at: start + 60_001 * millisecond)
        bench.scan(at: start + 60_001 * millisecond)
        bench.run(until: start + 60_500 * millisecond)
        #expect(bench.counters(index) == WatchCounters())
        loop.find(isQuiet: false, .none)
        loop.loop.move(to: .waiting, at: start + 60_500 * millisecond)
        bench.scan(at: start + 60_500 * millisecond)
        loop.loop.move(to: .afterWaiting, at: start + 60_501 * millisecond)
        bench.scan(at: start + 60_501 * millisecond)
        bench.run(until: start + 60_700 * millisecond)
        #expect(bench.counters(index) == WatchCounters(stalls: 1))
    }
}
