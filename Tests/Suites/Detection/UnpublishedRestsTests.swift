internal import CLagBeacon
internal import LagActivity
internal import LagModel
import Synchronization
import Testing

@testable import LagDetection

/// A loop of which only the waits are known; the test sets how often its thread slept.
private final class FakeWaitingLoop: ExaminableLoop {
    let beacon = ActivityBeacon()
    let thread = ThreadIdentity(tid: 0, stackLow: 0, stackHigh: 0)
    let name = "waiting"
    let waits: PublishedWaits
    private let isQuiet: Bool
    private let sleeps = Atomic<UInt64>(0)
    private let readings = Atomic<Int>(0)

    init(_ waits: PublishedWaits = .turns, isQuiet: Bool = false) {
        self.waits = waits
        self.isQuiet = isQuiet
    }

    func recordRest(at now: UInt64) {}
    func examine(at now: UInt64) -> LoopExamination { LoopExamination(isQuiet: isQuiet, work: .none) }

    func countSleeps() -> UInt64? {
        readings.add(1, ordering: .relaxed)
        return sleeps.load(ordering: .relaxed)
    }

    var timesAsked: Int { readings.load(ordering: .relaxed) }

    /// It enters its wait, and sleeps there.
    func rest() {
        sleeps.add(1, ordering: .relaxed)
        beacon.publish(.waiting)
    }

    /// A wait that returns at once, and work after it.
    func turn(at time: UInt64) {
        beacon.publish(.waiting)
        beacon.wake(.afterWaiting, at: time)
    }
}

/// How the watchdog handles loops whose waits do not prove a rest, with simulated beacons.
struct UnpublishedRestsTests {
    private let start: UInt64 = 1000 * millisecond

    private func rules(starvation: UInt64? = 400, callout: Bool = true) -> WatchRules {
        var rules = WatchRules.standard
        if !callout { rules.callout = nil }
        rules.starvationNanoseconds = starvation.map { $0 * millisecond }
        return rules
    }

    /// Rests, and wakes at `start`.
    private func begin(_ loop: FakeWaitingLoop, _ bench: WatchdogBench, _ rules: WatchRules) -> Int {
        let index = bench.watch(loop, rules: rules)
        loop.rest()
        bench.scan(at: start - 100 * millisecond)
        loop.beacon.wake(.afterWaiting, at: start)
        bench.scan(at: start)
        return index
    }

    /// Turns of 7 ms; `each` runs after each turn.
    private func run(_ loop: FakeWaitingLoop, _ bench: WatchdogBench, from begin: UInt64, turns: UInt64, each: () -> Void = {})
        -> UInt64
    {
        for turn in 1...turns {
            each()
            loop.turn(at: begin + turn * 7 * millisecond)
            bench.run(until: begin + turn * 7 * millisecond)
        }
        return begin + turns * 7 * millisecond
    }

    @Test func `turns without a sleep are starvation, with the number of turns`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop()
        let index = begin(loop, bench, rules())
        let end = run(loop, bench, from: start, turns: 100)
        #expect(bench.counters(index).stalls == 1)
        // Each wait would answer an arming: the loop is not armed.
        #expect(bench.registry.coldParts[index].detector.isStalled && loop.beacon.raw.pointee.armed == 0)
        loop.rest()
        bench.run(until: end + 100 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.starvation] && reported.first?.since == start, "\(reported)")
        let interval = try #require(reported.first).interval
        // Seen awake at the last tick before, and at rest at the first one after it.
        #expect(interval.until <= end && end - interval.until <= 50 * millisecond && interval.latest >= end, "\(interval)")
        let turns = try #require(interval.turns)
        #expect((93...101).contains(turns), "\(turns)")
    }

    @Test func `a busy loop that sometimes sleeps is not starved`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop()
        let index = begin(loop, bench, rules())
        var turns = 0
        let end = run(loop, bench, from: start, turns: 1000) {
            turns += 1
            if turns.isMultiple(of: 30) { loop.rest() }
        }
        loop.rest()
        bench.run(until: end + 1000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
        #expect(bench.plan.deadline == .max)
    }

    @Test func `a thread that runs no loop is never starved`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop(isQuiet: true)
        let index = begin(loop, bench, rules())
        let end = run(loop, bench, from: start, turns: 500)
        loop.rest()
        bench.run(until: end + 1000 * millisecond)
        #expect(bench.counters(index) == WatchCounters() && bench.takeReported().isEmpty)
    }

    @Test func `without the starvation rule sleeps are not counted`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop()
        let index = begin(loop, bench, rules(starvation: nil))
        _ = run(loop, bench, from: start, turns: 200)
        #expect(bench.counters(index) == WatchCounters() && loop.timesAsked == 0)
    }

    @Test func `a turn as long as a stall is a callout stall, and ends the starvation around it`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop()
        _ = begin(loop, bench, rules())
        let long = run(loop, bench, from: start, turns: 70)
        bench.run(until: long + 300 * millisecond)
        let later = run(loop, bench, from: long + 300 * millisecond, turns: 70)
        loop.rest()
        bench.run(until: later + 100 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.starvation, .callout, .starvation], "\(reported)")
        // Each counts its own turns.
        #expect(reported.compactMap(\.interval.turns).allSatisfy { (60...72).contains($0) }, "\(reported)")
    }

    /// Many short callbacks in one turn, with only this rule.
    @Test func `one turn without a rest is a starvation of one turn`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop()
        _ = begin(loop, bench, rules(callout: false))
        bench.run(until: start + 900 * millisecond)
        loop.rest()
        bench.run(until: start + 2000 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.starvation] && reported.first?.interval.turns == 1, "\(reported)")
    }

    @Test func `a sampled loop is evaluated by its sleeps, and has no turns`() throws {
        let bench = try WatchdogBench()
        let loop = FakeWaitingLoop(.samples)
        let index = begin(loop, bench, rules())
        for step in 1...100 as ClosedRange<UInt64> {
            loop.beacon.begin(.afterWaiting, at: start + step * 7 * millisecond)
            bench.run(until: start + step * 7 * millisecond)
        }
        #expect(bench.counters(index).stalls == 1)
        loop.rest()
        bench.run(until: start + 1000 * millisecond)
        let reported = bench.takeReported()
        #expect(reported.map(\.kind) == [.starvation] && reported.first?.since == start, "\(reported)")
        #expect(reported.allSatisfy { $0.interval.turns == nil })
    }
}
