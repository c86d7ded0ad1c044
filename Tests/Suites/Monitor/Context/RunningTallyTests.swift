import CLagBeacon
internal import CLagLinux
import LagDetection
import Testing

/// Which context a stall is attributed to: the one that ran for more than half of it, or none.
struct RunningTallyTests {
    private static let ms: UInt64 = 1_000_000

    private func context(_ token: UInt64, opened: UInt64) -> clb_context_copy {
        var copy = clb_context_copy()
        copy.token = token
        copy.context.opened_ns = opened
        return copy
    }

    /// The readings of one stall.
    private struct Stall {
        let tally: RunningTally
        var latest: LatestRunning

        /// - Parameter latest: the readings before the stall.
        init(at since: UInt64, _ latest: LatestRunning = LatestRunning(), now: UInt64? = nil) throws {
            tally = try #require(RunningTally())
            self.latest = latest
            tally.begin(at: since)
            self.latest.begin(at: since, now: now ?? since)
        }

        mutating func read(_ context: clb_context_copy?, _ task: cll_task? = nil, isCall: Bool = false, at now: UInt64) {
            RunningTallyTests.withReading(context, task, isCall: isCall) {
                latest.record($0, isStalled: true, at: now)
                tally.add($0, latest, at: now)
            }
        }
    }

    private static func withReading(
        _ context: clb_context_copy?,
        _ task: cll_task?,
        isCall: Bool = false,
        _ body: (RunningReading) -> Void
    ) {
        var (place, taskPlace) = (context ?? clb_context_copy(), task ?? cll_task())
        withUnsafePointer(to: &place) { place in
            withUnsafePointer(to: &taskPlace) { taskPlace in
                let reading = RunningReading(
                    task: task == nil ? nil : taskPlace,
                    context: context == nil ? nil : place,
                    since: isCall ? context?.context.opened_ns : nil
                )
                body(reading)
            }
        }
    }

    /// - Parameters:
    ///  - samples: the millisecond of the stall, and the context found; nil: none.
    ///   - isCall: synchronous contexts, which have run since they were opened; otherwise contexts of tasks.
    private func running(
        _ samples: [(at: UInt64, token: UInt64?, opened: UInt64)],
        until: UInt64,
        isCall: Bool = true
    ) throws -> UInt64? {
        let since = 1000 * Self.ms
        var stall = try Stall(at: since)
        for sample in samples {
            let context = sample.token.map { self.context($0, opened: sample.opened) }
            stall.read(context, isCall: isCall && sample.opened > 0, at: since + sample.at * Self.ms)
        }
        stall.tally.close(at: since + until * Self.ms)
        return stall.tally.running?.token
    }

    @Test func `one sample of a synchronous context counts for the whole stall`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1)], until: 300) == 1)
        #expect(try running([(at: 150, token: nil, opened: 1)], until: 300) == nil)
        #expect(try running([], until: 300) == nil)
    }

    /// A task waits, and its context was opened long before. Outside the samples, the loop may have run something else.
    @Test func `the context of a task counts only between its samples`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1)], until: 155, isCall: false) == nil)
        #expect(try running([(at: 50, token: 1, opened: 1), (at: 150, token: 1, opened: 1)], until: 190, isCall: false) == 1)
        #expect(try running([(at: 150, token: 1, opened: 1), (at: 170, token: 1, opened: 1)], until: 300, isCall: false) == nil)
    }

    /// Contexts found at milliseconds of the stall, before its threshold and at it, and how long the stall lasted.
    private func running(_ early: [(at: Int, token: UInt64)], until: UInt64) throws -> UInt64? {
        let since = 1000 * Self.ms
        var latest = LatestRunning()
        for (at, token) in early {
            let at = UInt64(Int(since) + at * Int(Self.ms))
            Self.withReading(context(token, opened: 1), nil) { latest.record($0, isStalled: false, at: at) }
        }
        var stall = try Stall(at: since, latest, now: since + 150 * Self.ms)
        stall.read(context(1, opened: 1), at: since + 150 * Self.ms)
        stall.tally.close(at: since + until * Self.ms)
        return stall.tally.running?.token
    }

    @Test func `readings before the threshold show since when the context of a task has run`() throws {
        // Two ticks after work began, and then every 10 ms.
        let polled = [110, 120, 130, 140].map { (at: $0, token: 1 as UInt64) }
        #expect(try running([(at: 60, token: 1)] + polled, until: 160) == 1)
        #expect(try running([(at: 60, token: 1)] + polled, until: 179) == 1)
        #expect(try running([(at: 60, token: 1)] + polled, until: 181) == nil)
        #expect(try running([(at: 60, token: 9)] + polled, until: 160) == nil)
        #expect(try running([(at: 60, token: 1), (at: 100, token: 9)] + polled, until: 160) == nil)
        // The readings are too far apart.
        #expect(try running([(at: 40, token: 1), (at: 101, token: 1)] + polled, until: 160) == nil)
        #expect(try running([(at: 60, token: 1)], until: 160) == nil)
    }

    @Test func `a context found before and during a stall counts if it was read soon after the beginning`() throws {
        let polled = [-20, 30, 80, 130].map { (at: $0, token: 1 as UInt64) }
        #expect(try running(polled, until: 160) == 1)
        #expect(try running(polled, until: 181) == nil)
        // Not read during the stall.
        #expect(try running([(at: -20, token: 1), (at: -1, token: 1)], until: 150) == nil)
    }

    @Test func `many short tasks before it do not displace the long task`() throws {
        var stall = try Stall(at: 0)
        var at: UInt64 = 0
        var task = cll_task()
        func sample(_ number: UInt64) {
            (task.address, task.number) = (number, UInt32(number))
            stall.read(context(number, opened: 1), task, at: at * Self.ms)
            at += 10
        }
        for number in 1...10 as ClosedRange<UInt64> { for _ in 0..<3 { sample(number) } }
        for _ in 0..<50 { sample(11) }
        stall.tally.close(at: at * Self.ms)
        #expect(stall.tally.running?.token == 11)
        #expect(stall.tally.task?.number == 11)
    }

    /// A context of another process: before it was first seen, another one may have run.
    @Test func `a context without a start time counts only between its samples`() throws {
        #expect(try running([(at: 150, token: 1, opened: 0)], until: 200) == nil)
        #expect(try running([(at: 50, token: 1, opened: 0), (at: 150, token: 1, opened: 0)], until: 190) == 1)
        let apart: [(at: UInt64, token: UInt64?, opened: UInt64)] = [
            (at: 50, token: 1, opened: 0), (at: 90, token: nil, opened: 0), (at: 150, token: 1, opened: 0),
        ]
        #expect(try running(apart, until: 200) == nil)
    }

    @Test func `the name of a task may be found in a later reading`() throws {
        var stall = try Stall(at: 0)
        var task = cll_task()
        (task.address, task.number) = (16, 1)
        for (at, length) in [(10, 0), (20, 3), (30, 0)] as [(UInt64, UInt8)] {
            task.name_length = length
            stall.read(nil, task, at: at)
        }
        stall.tally.close(at: 35)
        #expect(stall.tally.task?.name_length == 3)
    }

    @Test func `a context opened late in the stall is not reported`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1140 * Self.ms)], until: 200) == nil)
        #expect(try running([(at: 150, token: 1, opened: 1020 * Self.ms)], until: 200) == 1)
    }

    @Test func `of several contexts, the one that ran for more than half of the stall is reported`() throws {
        let samples: [(at: UInt64, token: UInt64?, opened: UInt64)] = [
            (at: 100, token: 1, opened: 1), (at: 150, token: 2, opened: 1100 * Self.ms),
        ]
        #expect(try running(samples, until: 160) == 1)
        #expect(try running(samples, until: 190) == 1)
        #expect(try running(samples, until: 200) == nil)
        #expect(try running(samples, until: 400) == 2)
    }

    @Test func `two handlers one after the other are one stall, and both are named`() throws {
        var stall = try Stall(at: 1000 * Self.ms)
        let tally = stall.tally
        for (at, token, opened) in [(1150, 1, 1010), (1290, 1, 1010), (1310, 2, 1300), (1500, 2, 1300), (1505, 3, 1502)]
            as [(UInt64, UInt64, UInt64)]
        {
            stall.read(context(token, opened: opened * Self.ms), isCall: true, at: at * Self.ms)
        }
        tally.close(at: 1600 * Self.ms)
        #expect(tally.running == nil)
        let parts = tally.alsoRan(atLeast: 100 * Self.ms)
        #expect(parts.map(\.copy.token) == [1, 2])
        #expect(parts.map { $0.ranNanoseconds / Self.ms } == [280, 200])
        // The one that is reported as the stall's context is not listed again.
        tally.close(at: 2400 * Self.ms)
        #expect(tally.running?.token == 3 && tally.alsoRan(atLeast: 250 * Self.ms).map(\.copy.token) == [1])
    }

    @Test func `of many open contexts, the oldest are kept`() throws {
        let tally = try #require(RunningTally())
        tally.begin(at: 0)
        #expect(tally.beginOpen(at: 1) && !tally.beginOpen(at: 2))
        for number in (1...20 as ClosedRange<UInt64>).reversed() {
            var copy = context(number, opened: number)
            tally.addOpen(&copy)
        }
        let kept = (0..<tally.openCount).map { tally.openContext($0).token }.sorted()
        #expect(kept == Array(1...8))
    }
}
