internal import LagActivity
internal import Testing

@testable import LagMonitor
@testable internal import LagRemote

/// What the detector concludes from samples of a thread.
@Suite struct IterationDetectorTests {
    private static let ms: UInt64 = 1_000_000
    #if arch(arm64)
        private static let pollWait: Int64 = 73
    #else
        private static let pollWait: Int64 = 271
    #endif

    private static func resting(at pointer: UInt64 = 1000, runs: UInt64 = 1, cpu: UInt64 = 0, epoll: Int32 = -1)
        -> ThreadObservation
    {
        ThreadObservation(
            doing: .blocked(call: ThreadObservation.epollWait, stackPointer: pointer, programCounter: 7, epoll: epoll),
            cpuNanoseconds: cpu,
            runs: runs
        )
    }

    private static func running(runs: UInt64 = 1, cpu: UInt64 = 0, delay: UInt64 = 0) -> ThreadObservation {
        ThreadObservation(doing: .running, cpuNanoseconds: cpu, delayNanoseconds: delay, runs: runs)
    }

    private func finder() -> IterationDetector {
        IterationDetector(place: RestPlace(call: nil, stackPointer: 1000, programCounter: 7), hold: 50 * Self.ms)
    }

    @Test func `the first wait for events and each one after work are reported`() {
        var finder = finder()
        #expect(finder.observe(Self.resting(), at: 100 * Self.ms) == .rest)
        #expect(finder.observe(Self.resting(), at: 110 * Self.ms) == .nothing)
        #expect(finder.observe(Self.running(), at: 120 * Self.ms) == .wake(120 * Self.ms))
        #expect(finder.observe(Self.running(), at: 130 * Self.ms) == .nothing)
        #expect(finder.observe(Self.resting(), at: 140 * Self.ms) == .rest)
    }

    /// What it has computed since the last sample came after its wait. It cannot have computed more than the time in between.
    @Test func `a stretch of work begins at the time that follows from scheduler accounting`() {
        var finder = finder()
        _ = finder.observe(Self.resting(cpu: 5 * Self.ms), at: 100 * Self.ms)
        #expect(finder.observe(Self.running(cpu: 9 * Self.ms, delay: 2 * Self.ms), at: 120 * Self.ms) == .wake(114 * Self.ms))
        _ = finder.observe(Self.resting(cpu: 9 * Self.ms), at: 130 * Self.ms)
        #expect(finder.observe(Self.running(cpu: 99 * Self.ms), at: 140 * Self.ms) == .wake(130 * Self.ms))
    }

    @Test func `a sleep outside the wait for events counts as work`() {
        var finder = finder()
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        let read = ThreadObservation(doing: .blocked(call: 63, stackPointer: 900, programCounter: 8), runs: 2)
        #expect(finder.observe(read, at: 110 * Self.ms) == .wake(110 * Self.ms))
        // In a wait for events, but deeper in the stack: the wait of a handler.
        #expect(finder.observe(Self.resting(at: 800, runs: 3), at: 120 * Self.ms) == .nothing)
        #expect(finder.isAtWork)
    }

    @Test func `an iteration reported by another source begins a new stretch of work`() {
        var finder = finder()
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        _ = finder.observe(Self.running(), at: 110 * Self.ms)
        #expect(!finder.isInDoubt(at: 112 * Self.ms) && finder.isInDoubt(at: 120 * Self.ms))
        let turned = finder.recordIteration(at: 119 * Self.ms, after: 115 * Self.ms, before: 120 * Self.ms)
        #expect(turned == .iteration(119 * Self.ms))
        #expect(finder.ended == TimeBounds(115 * Self.ms, likely: 119 * Self.ms, 119 * Self.ms))
        #expect(finder.began == TimeBounds(119 * Self.ms, likely: 119 * Self.ms, 120 * Self.ms))
        #expect(!finder.isInDoubt(at: 120 * Self.ms))
        // Older than the last known iteration.
        #expect(finder.recordIteration(at: 118 * Self.ms, after: 115 * Self.ms, before: 120 * Self.ms) == .nothing)
    }

    @Test func `a thread is stopped only if it was woken and the stop does not interrupt its wait`() {
        var finder = finder()
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        _ = finder.observe(Self.running(), at: 110 * Self.ms)
        let held1 = finder.mayBeHeld(at: 150 * Self.ms)
        #expect(!held1)
        let held2 = finder.mayBeHeld(at: 170 * Self.ms)
        #expect(held2)
        // A futex wait continues after a stop; a wait for events would return early.
        let futex: Int64 = {
            #if arch(arm64)
                98
            #else
                202
            #endif
        }()
        let waiting = ThreadObservation(doing: .blocked(call: futex, stackPointer: 900, programCounter: 8), runs: 5)
        _ = finder.observe(waiting, at: 180 * Self.ms)
        let held3 = finder.mayBeHeld(at: 180 * Self.ms)
        #expect(held3)
        _ = finder.observe(waiting, at: 190 * Self.ms)
        let held4 = finder.mayBeHeld(at: 190 * Self.ms)
        #expect(!held4)
        _ = finder.observe(Self.resting(at: 800, runs: 9), at: 200 * Self.ms)
        let held5 = finder.mayBeHeld(at: 200 * Self.ms)
        #expect(!held5)
        // Stopped by a check, as it often is on a machine without free processors: it goes on after that.
        let stopped = ThreadObservation(doing: .blocked(call: -1, stackPointer: 800, programCounter: 8), runs: 10)
        for (time, observation) in [(210, Self.running(runs: 10)), (220, stopped), (230, stopped)] {
            _ = finder.observe(observation, at: UInt64(time) * Self.ms)
            let held = finder.mayBeHeld(at: UInt64(time) * Self.ms, isForProof: true)
            #expect(held)
        }
    }

    /// Attached during a wait of a handler.
    @Test func `of two nested waits the outer one is the wait of the loop`() {
        var finder = finder()
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        _ = finder.observe(Self.running(), at: 110 * Self.ms)
        #expect(finder.observe(Self.resting(at: 2000, runs: 2), at: 120 * Self.ms) == .rest)
        #expect(finder.place.stackPointer == 2000)
    }

    /// A server on one eventfd (ZeroMQ) whose handler receives with a timeout: Python calls are not on the C stack.
    @Test func `without nested C calls, a wait of a handler further out counts as work`() {
        var finder = finder()
        finder.recordInterpreter()
        _ = finder.observe(Self.resting(), at: 100 * Self.ms)
        _ = finder.observe(Self.running(), at: 110 * Self.ms)
        for look in 0..<9 as Range<UInt64> {
            #expect(finder.observe(Self.resting(at: 2000, runs: 2 + look), at: (120 + look * 20) * Self.ms) == .nothing)
        }
        #expect(finder.isAtWork)
        #expect(finder.observe(Self.resting(runs: 20), at: 300 * Self.ms) == .rest)
        // The loop may wait there now. It is found again at its former location.
        for look in 0..<60 as Range<UInt64> {
            _ = finder.observe(Self.resting(at: 2000, runs: 30 + look), at: (320 + look * 20) * Self.ms)
        }
        #expect(!finder.isAtWork && finder.place.stackPointer == 2000)
        _ = finder.observe(Self.running(runs: 90), at: 1600 * Self.ms)
        #expect(finder.observe(Self.resting(runs: 91), at: 1610 * Self.ms) == .rest)
    }

    /// The C library's `pselect` takes more of the stack than its `ppoll`.
    @Test func `a poll by a handler at the stack pointer of the select of the loop is work`() throws {
        #if arch(arm64)
            let (select, poll): (Int64, Int64) = (72, 73)
        #else
            let (select, poll): (Int64, Int64) = (270, 271)
        #endif
        func asleep(in call: Int64, isOfSeveral: Bool, runs: UInt64) -> ThreadObservation {
            ThreadObservation(
                doing: .blocked(call: call, stackPointer: 1000, programCounter: 7, isOfSeveral: isOfSeveral),
                runs: runs
            )
        }
        let rest = asleep(in: select, isOfSeveral: true, runs: 1)
        var finder = IterationDetector(place: try #require(rest.place), hold: 50 * Self.ms)
        #expect(finder.observe(rest, at: 100 * Self.ms) == .rest)
        _ = finder.observe(asleep(in: poll, isOfSeveral: false, runs: 2), at: 120 * Self.ms)
        #expect(finder.isAtWork)
        #expect(finder.observe(asleep(in: select, isOfSeveral: true, runs: 3), at: 130 * Self.ms) == .rest)
    }

    @Test func `a wait at the loop's place that counts as a handler's becomes the loop's after a while`() throws {
        func asleep(isOfSeveral: Bool, _ runs: UInt64) -> ThreadObservation {
            ThreadObservation(
                doing: .blocked(call: Self.pollWait, stackPointer: 1000, programCounter: 7, isOfSeveral: isOfSeveral),
                runs: runs
            )
        }
        var finder = IterationDetector(place: try #require(asleep(isOfSeveral: true, 0).place), hold: 50 * Self.ms)
        for look in 1...10 as ClosedRange<UInt64> { _ = finder.observe(asleep(isOfSeveral: true, look), at: look * Self.ms) }
        var followed: UInt64?
        for look in 1...70 as ClosedRange<UInt64> where followed == nil {
            let step = finder.observe(asleep(isOfSeveral: false, 10 + look), at: look * 100 * Self.ms, isHandlers: true)
            if step == .rest { followed = look }
        }
        #expect(followed.map { (45...55).contains($0) } == true && finder.place.rank == 0)
        // It is not a place that it may return to at once.
        _ = finder.observe(asleep(isOfSeveral: true, 90), at: 8000 * Self.ms)
        #expect(finder.place.rank == 1)
        _ = finder.observe(asleep(isOfSeveral: false, 91), at: 8010 * Self.ms, isHandlers: true)
        #expect(finder.isAtWork)
    }

    @Test func `a loop that moves to another wait is followed after a while`() {
        var finder = finder()
        for look in 0..<10 { _ = finder.observe(Self.resting(runs: UInt64(look)), at: UInt64(look) * Self.ms) }
        var steps: [IterationDetector.Step] = []
        for look in 0..<70 {
            steps.append(
                finder.observe(Self.resting(at: 800, runs: 100 + UInt64(look)), at: 10 * Self.ms + UInt64(look) * 100 * Self.ms)
            )
        }
        let followed = steps.firstIndex(of: .rest)
        #expect(followed.map { (45...55).contains($0) } == true, "\(String(describing: followed))")
        #expect(finder.place.stackPointer == 800)
    }

    /// A handler of a loop on `poll` that waits on its own epoll instance, as libraries do.
    @Test func `a handler waiting on its own epoll instance is work, and its loop is found again at once`() throws {
        func resting(_ runs: UInt64) -> ThreadObservation {
            ThreadObservation(
                doing: .blocked(call: Self.pollWait, stackPointer: 1000, programCounter: 7, isOfSeveral: true),
                runs: runs
            )
        }
        var finder = IterationDetector(place: try #require(resting(0).place), hold: 50 * Self.ms)
        for look in 1...10 as ClosedRange<UInt64> { _ = finder.observe(resting(look), at: look * 50 * Self.ms) }
        var followed: UInt64?
        for look in 11...40 as ClosedRange<UInt64> where followed == nil {
            let step = finder.observe(Self.resting(at: 800, runs: look, epoll: 5), at: look * 50 * Self.ms)
            if step == .rest { followed = look }
        }
        // One second after it was last seen in its own wait.
        #expect(followed == 30 && finder.place.epoll == 5)
        _ = finder.observe(Self.running(runs: 41), at: 2050 * Self.ms)
        #expect(finder.observe(resting(42), at: 2060 * Self.ms) == .rest)
        #expect(finder.place.stackPointer == 1000 && finder.place.epoll == nil)
    }

    /// The wait of a loop may keep its events on the stack, so that a handler's wait is further out.
    @Test func `a handler that waits on its own epoll instance soon after the first wait is work`() {
        let place = RestPlace(call: nil, stackPointer: 1000, programCounter: 7, epoll: 3)
        var finder = IterationDetector(place: place, hold: 50 * Self.ms)
        _ = finder.observe(Self.resting(epoll: 3), at: 10 * Self.ms)
        for look in 2...60 as ClosedRange<UInt64> {
            #expect(finder.observe(Self.resting(at: 1800, runs: 2, epoll: 5), at: look * 10 * Self.ms) != .rest)
        }
        #expect(finder.observe(Self.resting(runs: 3, epoll: 3), at: 610 * Self.ms) == .rest && finder.place.epoll == 3)
        // Four waits are a loop further out, from which it returns at once if that was a handler's.
        var followed: UInt64?
        for look in 4...20 as ClosedRange<UInt64> where followed == nil {
            let step = finder.observe(Self.resting(at: 1800, runs: look, epoll: 5), at: 700 * Self.ms + look * 10 * Self.ms)
            if step == .rest { followed = look }
        }
        #expect(followed == 7 && finder.place.epoll == 5)
        _ = finder.observe(Self.running(runs: 21), at: 950 * Self.ms)
        #expect(finder.observe(Self.resting(runs: 22, epoll: 3), at: 960 * Self.ms) == .rest)
    }

    @Test func `a loop on poll is found again at once after a handler's wait on epoll that was taken for the loop's`() throws {
        func resting(_ runs: UInt64) -> ThreadObservation {
            ThreadObservation(
                doing: .blocked(call: Self.pollWait, stackPointer: 1000, programCounter: 7, isOfSeveral: true),
                runs: runs
            )
        }
        var finder = IterationDetector(place: try #require(resting(0).place), hold: 50 * Self.ms)
        _ = finder.observe(resting(1), at: 10 * Self.ms)
        #expect(finder.observe(Self.resting(at: 1800, runs: 2, epoll: 5), at: 20 * Self.ms) == .nothing)
        #expect(finder.place.epoll == 5)
        _ = finder.observe(Self.running(runs: 3), at: 30 * Self.ms)
        #expect(finder.observe(resting(4), at: 40 * Self.ms) == .rest)
        // Nor is that place trusted: a start's `poll` may come again in a handler.
        _ = finder.observe(Self.running(runs: 5), at: 50 * Self.ms)
        #expect(finder.observe(Self.resting(at: 1800, runs: 6, epoll: 5), at: 60 * Self.ms) == .rest)
    }
}
