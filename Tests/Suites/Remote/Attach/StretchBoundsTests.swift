internal import CLagRemote
internal import LagActivity
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// When stretches of work began and ended, by samples and by the thread's context switches recorded between them.
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

    /// In its wait for events at 100 ms.
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

    @Test func `without switch records a stretch began between two samples`() {
        var finder = rested()
        #expect(finder.observe(Self.asleep(), at: 120 * Self.ms, seen: 121 * Self.ms) == .wake(120 * Self.ms))
        #expect(finder.began == Self.bounds(100, 120, 121))
    }

    @Test func `work that sleeps outside the wait began between its wakeup and its sleep`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.asleep, 106)], sampled: 120)
        #expect(finder.observe(Self.asleep(), at: 120 * Self.ms, trace) == .wake(105 * Self.ms))
        #expect(finder.began == Self.bounds(105, 105, 106))
    }

    @Test func `the delay before the thread got a processor may belong to the stretch`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.asleep, 106)], sampled: 120)
        _ = finder.observe(Self.asleep(delay: 2 * Self.ms), at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(103, 105, 106))
    }

    /// It may have passed its wait since then, without a sleep.
    @Test func `a computing stretch began between its wakeup and the sample`() {
        let finder = working(Self.running)
        #expect(finder.began == Self.bounds(105, 105, 120))
    }

    @Test func `of several wakeups the last is the likely start and the first the earliest`() {
        var finder = rested()
        let trace = Self.trace([(.running, 102), (.asleep, 103), (.running, 110)], sampled: 120)
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(102, 110, 120))
    }

    /// Repeated `fsync`, or an answer received in parts. The length of the loop's own wait is unknown, but it was long.
    @Test(arguments: [(3, 130), (45, 178)] as [(UInt64, UInt64)])
    func `work with repeated short sleeps began after the last long sleep`(nap: UInt64, likely: UInt64) {
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

    /// A loop with a timer of 20 ms and a handler that polls for 30 ms cannot be distinguished.
    @Test func `if sleeps are as long as the waits for events, the last wakeup is the likely start`() {
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

    @Test func `a preemption does not count as a wait for events`() {
        var finder = rested()
        let trace = Self.trace([(.running, 105), (.preempted, 107), (.running, 112)], sampled: 120)
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began.likely == 105 * Self.ms)
    }

    @Test(arguments: [true, false]) func `lost switch records widen the bounds of a start`(isBefore: Bool) {
        var finder = rested()
        var trace = Self.trace(isBefore ? [(.lost, 104), (.running, 105)] : [(.running, 105)], sampled: 120)
        if !isBefore { trace.recordFull() }
        _ = finder.observe(Self.running, at: 120 * Self.ms, trace)
        #expect(finder.began == Self.bounds(100, 120, 120))
    }

    @Test func `a stretch may have begun later if iterations went unwatched`() {
        var finder = working(Self.running)
        finder.recordUnwatched(until: 130 * Self.ms)
        #expect(finder.began == Self.bounds(105, 105, 130))
        finder.recordUnwatched(until: 125 * Self.ms)
        #expect(finder.began == Self.bounds(105, 105, 130))
    }

    // MARK: Ends

    @Test func `without switch records a stretch ended between two samples`() {
        var finder = working(Self.running)
        #expect(finder.observe(Self.resting(3), at: 300 * Self.ms) == .rest)
        #expect(finder.ended == Self.bounds(120, 210, 300))
    }

    @Test func `a stretch ended when its thread reached its wait`() {
        var finder = working(Self.running)
        let records: [Record] = [(.pass, 290), (.asleep, 291), (.running, 295), (.pass, 296), (.asleep, 297)]
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, Self.trace(records, sampled: 300, wasAsleep: false, stamps: .all))
        #expect(finder.ended == Self.bounds(290, 290, 290))
    }

    @Test func `a pass that may not be the first is the latest possible end`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.pass, 290)], sampled: 300, wasAsleep: false, stamps: .some)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(120, 290, 290))
    }

    @Test func `a record lost before the first pass may have been the end`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.lost, 280), (.pass, 290)], sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(120, 290, 290))
    }

    @Test func `without pass records a stretch ended with a sleep since the last sample`() {
        var finder = working(Self.running)
        let records: [Record] = [(.asleep, 270), (.running, 280), (.asleep, 281)]
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, Self.trace(records, sampled: 300, wasAsleep: false))
        #expect(finder.ended == Self.bounds(120, 270, 281))
    }

    @Test func `a stretch that slept outside the wait did not end before its wakeup`() {
        var finder = working(Self.asleep())
        let trace = Self.trace([(.running, 280), (.asleep, 281)], sampled: 300)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(280, 281, 281))
    }

    /// The sample does not show whether it slept in its wait or elsewhere.
    @Test func `a sleep at the time of the sample is not a certain end`() {
        var finder = working(Self.asleep())
        let trace = Self.trace([(.running, 280), (.asleep, 301)], sampled: 300)
        _ = finder.observe(Self.resting(3), at: 300 * Self.ms, seen: 302 * Self.ms, trace)
        #expect(finder.ended == Self.bounds(280, 291, 302))
    }

    // MARK: Iterations without a sampled wait

    @Test func `an iteration ends one stretch and begins the next`() {
        var finder = working(Self.running)
        let trace = Self.trace([(.pass, 290), (.pass, 295)], sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        let step = finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms)
        #expect(step == .iteration(295 * Self.ms) && finder.ended == Self.bounds(290, 290, 290))
        #expect(finder.began == Self.bounds(295, 295, 295))
    }

    @Test func `after a sleep in the wait for events, a stretch begins with the wakeup`() {
        var finder = working(Self.running)
        let records: [Record] = [(.pass, 290), (.asleep, 291), (.running, 296)]
        let trace = Self.trace(records, sampled: 300, wasAsleep: false, stamps: .all)
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        #expect(finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms) == .iteration(296 * Self.ms))
        #expect(finder.began == Self.bounds(290, 296, 296))
    }

    /// The kernel's record of a thread that reached the function with which its loop waits.
    private static func pass(at pointer: UInt64, _ argument: UInt64 = 0, epoll: Int32? = nil) -> SwitchTrace.Event? {
        let found = clr_switch(time_ns: 1, kind: Int32(CLR_SWITCH_PASS), sp: pointer, first_argument: argument)
        return SwitchTrace.Event(found, of: RestPlace(call: nil, stackPointer: 1000, programCounter: 7, epoll: epoll))
    }

    @Test func `a wait deeper in the stack belongs to a handler and is not an iteration`() {
        #expect(Self.pass(at: 992) == nil)
        #expect(Self.pass(at: 1000) == .pass)
        // A wait further out means that the thread has left the function that waited before.
        #expect(Self.pass(at: 2000) == .pass)
        // Without registers each pass counts.
        #expect(Self.pass(at: .max) == .pass)
    }

    @Test func `a wait on the epoll instance of the loop is an iteration at any stack depth`() {
        #expect(Self.pass(at: 800, 5, epoll: 5) == .pass)
        #expect(Self.pass(at: 800, 6, epoll: 5) == nil)
        #expect(Self.pass(at: 1000, 5, epoll: 5) == .pass)
    }

    /// A server in Python whose handler receives with a timeout, which also calls poll.
    @Test func `without nested C calls, a wait of a handler further out is not an iteration`() {
        var place = RestPlace(call: nil, stackPointer: 1000, programCounter: 7)
        place.callsNest = false
        #expect(place.isLoopsOwn(stackPointer: 1000, firstArgument: 0) && place.isLoopsOwn(stackPointer: 960, firstArgument: 0))
        #expect(place.isLoopsOwn(stackPointer: .max, firstArgument: 0))
        #expect(!place.isLoopsOwn(stackPointer: 2000, firstArgument: 0))
        place.epoll = 5
        #expect(place.isLoopsOwn(stackPointer: 2000, firstArgument: 5) && !place.isLoopsOwn(stackPointer: 2000, firstArgument: 6))
    }

    @Test func `passes after the ring buffer is full are unknown`() {
        var finder = working(Self.running)
        var trace = Self.trace([(.pass, 290)], sampled: 300, wasAsleep: false, stamps: .all)
        trace.recordFull()
        _ = finder.observe(Self.running, at: 300 * Self.ms, trace)
        _ = finder.recordPasses(trace, since: 200 * Self.ms, seen: 301 * Self.ms)
        #expect(finder.ended == Self.bounds(290, 290, 290) && finder.began == Self.bounds(290, 301, 301))
    }

    // MARK: When recording is worthwhile

    @Test func `a loop that is rarely woken counts as calm until it is busy`() {
        var meter = WakeRateMeter()
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
