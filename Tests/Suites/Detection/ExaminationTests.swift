internal import LagActivity
import Synchronization
import Testing

@testable import LagDetection

/// A loop of another process: what is found of it is set by hand.
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

    var examinations: Int { count.load(ordering: .relaxed) }
    func find(isQuiet: Bool, isResting: Bool = false, isOver: Bool = false, _ work: PendingWork) {
        found.withLock { $0 = LoopExamination(isQuiet: isQuiet, isResting: isResting, isOver: isOver, work: work) }
    }
}

/// What the watchdog makes of loops that can be examined, with beacons moved by hand.
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

    @Test func `a quiet loop is no stall, and is looked at less and less`() throws {
        let bench = try WatchdogBench()
        let loop = FakeExaminableLoop()
        loop.find(isQuiet: true, .none)
        let index = begin(loop, bench)
        bench.run(until: start + 10_000 * millisecond)
        let examinations = loop.examinations
        bench.run(until: start + 110_000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
        // At last once a second.
        #expect((95...105).contains(loop.examinations - examinations), "\(loop.examinations - examinations)")
        #expect(loop.loop.isArmed)
        // What it records of itself is no stall either.
        loop.loop.move(to: .waiting, at: start + 110_000 * millisecond)
        bench.run(until: start + 111_000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
        #expect(bench.plan.deadline == .max)
    }

    @Test func `once work waits for it it is stalled, since that was found`() throws {
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
        // Long enough for a line while it lasted.
        let reported = bench.takeReported()
        #expect(reported.map(\.phase) == [.begin, .end], "\(reported)")
        // The looks are up to an eighth of five seconds apart.
        let looked = start + 5000 * millisecond...start + 5700 * millisecond
        #expect(reported.allSatisfy { looked.contains($0.since) }, "\(reported)")
    }

    @Test(arguments: [false, true])
    func `what ends a stall is a rest, or its loops end, and then it was none`(isOver: Bool) throws {
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

    /// As a loop within a handler is: for long at rest, and now and then at work.
    @Test func `a moments work of a loop that was quiet for long is no stall and more is`() throws {
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

    /// The gap of one rest must not hide what comes after it.
    @Test func `work after a quiet time is looked at anew`() throws {
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
