internal import CLagRemote
internal import LagActivity
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// When stretches of work began and ended, by samples and by what was recorded of the thread's switches between them.
@Suite struct StretchBoundsTests {
    private static let ms: UInt64 = 1_000_000
    private typealias Record = (event: SwitchTrace.Event, milliseconds: UInt64)

    private static func resting(_ runs: UInt64 = 1) -> ThreadObservation {
        ThreadObservation(doing: .blocked(call: ThreadObservation.epollWait, stackPointer: 1000, programCounter: 7), runs: runs)
    }
    private static let running = ThreadObservation(doing: .running, runs: 2)
    private static func asleep(_ runs: UInt64 = 2, delay: UInt64 = 0) -> ThreadObservation {
        ThreadObservation(
            doing: .blocked(call: 35, stackPointer: 900, programCounter: 8),
            delayNanoseconds: delay,
            runs: runs
        )
    }

    private static func trace(
        _ records: [Record],
        sampled: UInt64,
        wasAsleep: Bool = true,
        isRecorded: Bool = true,
        stamps: SwitchTrace.Stamps = .none
    ) -> SwitchTrace {
        var trace = SwitchTrace(wasAsleep: wasAsleep)
        trace.end(sampled: sampled * ms, isRecorded: isRecorded, stamps: stamps)
        for record in records { trace.record(record.event, at: record.milliseconds * ms) }
        return trace
    }

    private static func bounds(_ earliest: UInt64, _ likely: UInt64, _ latest: UInt64) -> TimeBounds {
        TimeBounds(earliest * ms, likely: likely * ms, latest * ms)
    }

    /// At rest at 100 ms.
    private func rested() -> IterationDetector {
        var finder = IterationDetector(place: RestPlace(call: nil, stackPointer: 1000, programCounter: 7), hold: 50 * Self.ms)
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        return finder
    }

    /// At work at 120 ms, since 105.
    private func working(_ observation: ThreadObservation) -> IterationDetector {
        var finder = rested()
        _ = finder.observe(observation, at: 120 * Self.ms, Self.trace([(.running, 105)], sampled: 120))
        return finder
    }

    // MARK: Beginnings

    @Test func `without records a stretch began between two samples`() {
        var finder = rested()
        #expect(finder.observe(Self.asleep(), at: 120 * Self.ms, seen: 121 * Self.ms) == .wake(120 * Self.ms))
        #expect(finder.began == Self.bounds(100, 120, 121))
    }

    @Test func `what sleeps elsewhere began between its wake and its sleep`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.asleep, 106)], sampled: 120)
        #expect(finder.observe(Self.asleep(), at: 120 * Self.ms, trace) == .wake(105 * Self.ms))
        #expect(finder.began == Self.bounds(105, 105, 106))
    }

    @Test func `the wait for a processor may belong to it`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.asleep, 106)], sampled: 120)
        _ = finder.observe(Self.asleep(delay: 2 * Self.ms), at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(103, 105, 106))
    }

    /// It may have come by its wait since, without a sleep.
    @Test func `what computes began between its wake and the sample`() {
        let finder = working(Self.running)
        #expect(finder.began == Self.bounds(105, 105, 120))
    }

    @Test func `of several wakes the last is likely and the first is possible`() {
        var finder = rested()
        let trace = Self.trace([(.running, 102), (.asleep, 103), (.running, 110)], sampled: 120)
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(102, 110, 120))
    }

    /// `fsync` in a loop, an answer in parts. How long the loop's own rest was is not known: it was long.
    @Test(arguments: [(3, 130), (45, 178)] as [(UInt64, UInt64)])
    func `work that sleeps again and again began behind the last long sleep`(nap: UInt64, likely: UInt64) {
        var finder = rested()
        let third = 133 + nap
        let naps: [Record] = [
            (.running, 130), (.asleep, 131), (.running, 133), (.asleep, 133), (.running, third), (.asleep, third),
        ]
        _ = finder.observe(Self.asleep(), at: 190 * Self.ms, Self.trace(naps, sampled: 190))
        #expect(finder.began.likely == third * Self.ms && finder.mayHaveBegun == nil)
        let later: [Record] = [(.running, 192), (.asleep, 193), (.running, 196), (.asleep, 197)]
        // It may have been at its wait.
        _ = finder.observe(Self.asleep(9), at: 200 * Self.ms, Self.trace(later, sampled: 200, stamps: .some))
        #expect(finder.mayHaveBegun == nil)
        _ = finder.observe(Self.asleep(9), at: 200 * Self.ms, Self.trace(later, sampled: 200, stamps: .all))
        #expect(finder.mayHaveBegun == likely * Self.ms)
        _ = finder.recordIteration(at: 200 * Self.ms, after: 199 * Self.ms, before: 200 * Self.ms)
        #expect(finder.mayHaveBegun == nil)
    }

    /// A loop with a timer of 20 ms, and a handler that polls for 30: nothing distinguishes them.
    @Test func `of sleeps as long as the rests the last wake is likely`() {
        var finder = rested()
        var trace = SwitchTrace(wasAsleep: true, since: 90 * Self.ms)
        trace.end(sampled: 150 * Self.ms, isRecorded: true, stamps: .none)
        let turns: [Record] = [(.running, 110), (.asleep, 110), (.running, 130), (.asleep, 131)]
        for turn in turns { trace.record(turn.event, at: turn.milliseconds * Self.ms) }
        _ = finder.observe(Self.asleep(), at: 150 * Self.ms, trace)
        #expect(finder.began.likely == 130 * Self.ms)
        var later = SwitchTrace(wasAsleep: true, since: 131 * Self.ms)
        later.end(sampled: 170 * Self.ms, isRecorded: true, stamps: .all)
        later.record(.running, at: 161 * Self.ms)
        _ = finder.observe(Self.asleep(9), at: 170 * Self.ms, later)
        #expect(later.hasSleptAtWork && finder.mayHaveBegun == nil)
    }

    @Test func `a preemption is no rest`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.preempted, 107), (.running, 112)], sampled: 120)
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began.likely == 105 * Self.ms)
    }

    @Test(arguments: [true, false]) func `lost records widen the bounds`(isBefore: Bool) {
        var finder = rested()
        var trace = Self.trace(isBefore ? [(.lost, 104), (.running, 105)] : [(.running, 105)], sampled: 120)
        if !isBefore { trace.recordFull() }
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(100, 120, 120))
    }

    @Test func `what was not watched for turns may be younger`() {
        var finder = working(Self.running)
        #expect(finder.recordUnwatched(since: 120 * Self.ms, until: 130 * Self.ms) == .nothing)
        #expect(finder.began == Self.bounds(105, 105, 130))
        #expect(finder.recordUnwatched(since: 120 * Self.ms, until: 125 * Self.ms) == .nothing)
        #expect(finder.began == Self.bounds(105, 105, 130))
    }

    // MARK: Ends

    @Test func `across a gap with time for a turn two turns are not joined`() {
        var finder = working(Self.running)
        #expect(finder.recordUnwatched(since: 130 * Self.ms, until: 229 * Self.ms) == .nothing)
        #expect(finder.began.likely == 105 * Self.ms)
        #expect(finder.recordUnwatched(since: 230 * Self.ms, until: 330 * Self.ms) == .iteration(330 * Self.ms))
        #expect(finder.ended == Self.bounds(230, 280, 330) && finder.began == Self.bounds(230, 330, 330))
    }

    @Test func `without records a stretch ended between two samples`() {
        var finder = working(Self.running)
        #expect(finder.observe(Self.resting(3), at: 300 * Self.ms) == .rest)
        #expect(finder.ended == Self.bounds(120, 210, 300))
    }

    @Test func `a stretch ended where its thread came by its wait`() {
        var finder = working(Self.running)
        let records: [Record] = [(.pass, 290), (.asleep, 291), (.running, 295), (.pass, 296), (.asleep, 297)]
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, Self.trace(records, sampled: 300, wasAsleep: false, stamps: .all))
        #expect(finder.ended == Self.bounds(290, 290, 290))
    }

    @Test func `a pass that may not be the first is the latest end`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.pass, 290)], sampled: 300, wasAsleep: false, stamps: .some)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(120, 290, 290))
    }

    @Test func `a lost record before the first pass is one that may be it`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.lost, 280), (.pass, 290)], sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(120, 290, 290))
    }

    @Test func `without stamps it ended with a sleep since the last sample`() {
        var finder = working(Self.running)
        let records: [Record] = [(.asleep, 270), (.running, 280), (.asleep, 281)]
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, Self.trace(records, sampled: 300, wasAsleep: false))
        #expect(finder.ended == Self.bounds(120, 270, 281))
    }

    @Test func `what slept elsewhere did not end before its wake`() {
        var finder = working(Self.asleep())
        let trace = Self.trace([(.running, 280), (.asleep, 281)], sampled: 300)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(280, 281, 281))
    }

    /// Whether it slept in its wait then, or elsewhere, the sample does not say.
    @Test func `a sleep that came with the sample is not the end for certain`() {
        var finder = working(Self.asleep())
        let trace = Self.trace([(.running, 280), (.asleep, 301)], sampled: 300)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, seen: 302 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(280, 291, 302))
    }

    // MARK: Turns without a rest that was seen

    @Test func `a turn ends one stretch and begins the next`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.pass, 290), (.pass, 295)], sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        let step = finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms)
        #expect(step == .iteration(295 * Self.ms) && finder.ended == Self.bounds(290, 290, 290))
        #expect(finder.began == Self.bounds(295, 295, 295))
    }

    @Test func `what slept in its wait since then begins with its wake`() {
        var finder = working(Self.running)
        let records: [Record] = [(.pass, 290), (.asleep, 291), (.running, 296)]
        let trace = Self.trace(records, sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        #expect(finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms) == .iteration(296 * Self.ms))
        #expect(finder.began == Self.bounds(290, 296, 296))
    }

    /// The kernel's record of a thread that came by the function that its loop waits by.
    private static func pass(at pointer: UInt64, _ argument: UInt64 = 0, epoll: Int32? = nil) -> SwitchTrace.Event? {
        let found = clr_switch(time_ns: 1, kind: Int32(CLR_SWITCH_PASS), sp: pointer, first_argument: argument)
        return SwitchTrace.Event(found, of: RestPlace(call: nil, stackPointer: 1000, programCounter: 7, epoll: epoll))
    }

    @Test func `a wait deeper in the stack is a handlers and no turn`() {
        #expect(Self.pass(at: 992) == nil)
        #expect(Self.pass(at: 1000) == .pass)
        // Whoever waits further out has left the function that waited before.
        #expect(Self.pass(at: 2000) == .pass)
        // Without registers each counts.
        #expect(Self.pass(at: .max) == .pass)
    }

    @Test func `a wait on the loops epoll instance is a turn wherever it is`() {
        #expect(Self.pass(at: 800, 5, epoll: 5) == .pass)
        #expect(Self.pass(at: 800, 6, epoll: 5) == nil)
        #expect(Self.pass(at: 1000, 5, epoll: 5) == .pass)
    }

    /// A server in Python whose handler receives with a time-out: that polls, too.
    @Test func `a handlers wait further out is no turn where calls do not nest`() {
        var place = RestPlace(call: nil, stackPointer: 1000, programCounter: 7)
        place.callsNest = false
        #expect(place.isLoopsOwn(stackPointer: 1000, firstArgument: 0) && place.isLoopsOwn(stackPointer: 960, firstArgument: 0))
        #expect(place.isLoopsOwn(stackPointer: .max, firstArgument: 0))
        #expect(!place.isLoopsOwn(stackPointer: 2000, firstArgument: 0))
        place.epoll = 5
        #expect(place.isLoopsOwn(stackPointer: 2000, firstArgument: 5) && !place.isLoopsOwn(stackPointer: 2000, firstArgument: 6))
    }

    @Test func `passes after a full ring are not known`() {
        var finder = working(Self.running)
        var trace = Self.trace([(.pass, 290)], sampled: 300, wasAsleep: false, stamps: .all)
        trace.recordFull()
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        _ = finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms)
        #expect(finder.ended == Self.bounds(290, 290, 290) && finder.began == Self.bounds(290, 301, 301))
    }

    // MARK: When it is worth recording

    @Test func `a loop that is woken seldom is calm until it is busy`() {
        var meter = CalmMeter()
        var (runs, now): (UInt64, UInt64) = (0, 0)
        let rest = { (added: UInt64) -> Bool in
            runs += added
            now += 20 * Self.ms
            meter.recordRest(runs: runs, at: now)
            return meter.isCalm
        }
        let calm = (0..<6).map { _ in rest(4) }
        #expect(calm == [false, false, false, false, true, true])
        let busy = rest(40)
        #expect(!busy)
        let again = (0..<4).map { _ in rest(1) }
        #expect(again == [false, false, false, true])
    }
}
