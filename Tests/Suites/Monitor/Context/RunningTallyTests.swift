import CLagBeacon
internal import CLagLinux
import LagDetection
import Testing

/// Which context a stall is about: the one that ran for more than half of it, or none.
struct RunningTallyTests {
    private static let ms: UInt64 = 1_000_000

    private func context(_ token: UInt64, opened: UInt64) -> clb_context_copy {
        var copy = clb_context_copy()
        copy.token = token
        copy.context.opened_ns = opened
        return copy
    }

    /// - Parameters:
    ///   - samples: at which millisecond of the stall, and which context; nil: none.
    ///   - isCall: they are synchronous ones, which run since they were opened; else tasks' ones.
    private func running(
        _ samples: [(at: UInt64, token: UInt64?, opened: UInt64)],
        until: UInt64,
        isCall: Bool = true
    ) throws -> UInt64? {
        let tally = try #require(RunningTally())
        let since = 1000 * Self.ms
        tally.begin(at: since)
        for sample in samples {
            if let token = sample.token {
                var copy = context(token, opened: sample.opened)
                let opened = isCall ? sample.opened : 0
                tally.add(
                    nil,
                    &copy,
                    since: RunningSince(context: opened, task: 0, runsOn: opened > 0),
                    at: since + sample.at * Self.ms
                )
            } else {
                tally.add(nil, nil, at: since + sample.at * Self.ms)
            }
        }
        tally.close(at: since + until * Self.ms)
        return tally.running?.token
    }

    @Test func `one sample of a call stands for the whole stall`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1)], until: 300) == 1)
        #expect(try running([(at: 150, token: nil, opened: 1)], until: 300) == nil)
        #expect(try running([], until: 300) == nil)
    }

    /// A task waits, and its context was opened long before: of what a loop ran before it is seen, and afterwards, it may have run nothing.
    @Test func `a task's context has what lies between its samples`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1)], until: 155, isCall: false) == nil)
        #expect(try running([(at: 50, token: 1, opened: 1), (at: 150, token: 1, opened: 1)], until: 190, isCall: false) == 1)
        #expect(try running([(at: 150, token: 1, opened: 1), (at: 170, token: 1, opened: 1)], until: 300, isCall: false) == nil)
    }

    @Test func `what was read before the stall was one says since when a task's context runs`() throws {
        let since = 1000 * Self.ms
        var early = EarlyRunning()
        early.record(token: 9, task: 16, number: 1, at: since + 50 * Self.ms)
        for at in [60, 80, 100, 120, 140] as [UInt64] {
            early.record(token: 1, task: 16, number: 1, at: since + at * Self.ms)
        }
        let now = since + 150 * Self.ms
        let found = early.since(token: 1, task: 16, number: 1, begin: since, at: now)
        #expect(found == RunningSince(context: since + 60 * Self.ms, task: since + 50 * Self.ms, runsOn: false))
        // Another one, another stall, and readings that are long past.
        #expect(early.since(token: 2, task: 32, number: 1, begin: since, at: now) == RunningSince())
        #expect(early.since(token: 1, task: 16, number: 1, begin: since + 145 * Self.ms, at: now) == RunningSince())
        #expect(early.since(token: 1, task: 16, number: 1, begin: since, at: now + 100 * Self.ms) == RunningSince())
        early.record(token: 1, task: 16, number: 1, at: now + 100 * Self.ms)
        #expect(early.since(token: 1, task: 16, number: 1, begin: since, at: now + 100 * Self.ms).context == now + 100 * Self.ms)

        let tally = try #require(RunningTally())
        tally.begin(at: since)
        var copy = context(1, opened: 1)
        tally.add(nil, &copy, since: found, at: now)
        tally.close(at: since + 170 * Self.ms)
        #expect(tally.running?.token == 1)
        tally.close(at: since + 190 * Self.ms)
        #expect(tally.running == nil)
    }

    @Test func `many short ones before it do not keep the long one out`() throws {
        let tally = try #require(RunningTally())
        tally.begin(at: 0)
        var at: UInt64 = 0
        var task = cll_task()
        func sample(_ number: UInt64) {
            var copy = context(number, opened: 1)
            (task.address, task.number) = (number, UInt32(number))
            tally.add(&task, &copy, at: at * Self.ms)
            at += 10
        }
        for number in 1...10 as ClosedRange<UInt64> { for _ in 0..<3 { sample(number) } }
        for _ in 0..<50 { sample(11) }
        tally.close(at: at * Self.ms)
        #expect(tally.running?.token == 11)
        #expect(tally.task?.number == 11)
    }

    /// Another process's: the time before it was first seen may be another one's.
    @Test func `a context without a beginning has what lies between its samples`() throws {
        #expect(try running([(at: 150, token: 1, opened: 0)], until: 200) == nil)
        #expect(try running([(at: 50, token: 1, opened: 0), (at: 150, token: 1, opened: 0)], until: 190) == 1)
        let apart: [(at: UInt64, token: UInt64?, opened: UInt64)] = [
            (at: 50, token: 1, opened: 0), (at: 90, token: nil, opened: 0), (at: 150, token: 1, opened: 0),
        ]
        #expect(try running(apart, until: 200) == nil)
    }

    @Test func `a task's name may come later`() throws {
        let tally = try #require(RunningTally())
        tally.begin(at: 0)
        var task = cll_task()
        (task.address, task.number) = (16, 1)
        tally.add(&task, nil, at: 10)
        task.name_length = 3
        tally.add(&task, nil, at: 20)
        task.name_length = 0
        tally.add(&task, nil, at: 30)
        tally.close(at: 35)
        #expect(tally.task?.name_length == 3)
    }

    @Test func `a context that was opened late is not to blame`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1140 * Self.ms)], until: 200) == nil)
        #expect(try running([(at: 150, token: 1, opened: 1020 * Self.ms)], until: 200) == 1)
    }

    @Test func `of several the one that ran for more than half`() throws {
        let samples: [(at: UInt64, token: UInt64?, opened: UInt64)] = [
            (at: 100, token: 1, opened: 1), (at: 150, token: 2, opened: 1100 * Self.ms),
        ]
        #expect(try running(samples, until: 160) == 1)
        #expect(try running(samples, until: 190) == 1)
        #expect(try running(samples, until: 200) == nil)
        #expect(try running(samples, until: 400) == 2)
    }

    @Test func `one handler after the other is one stall, and both are named`() throws {
        let tally = try #require(RunningTally())
        tally.begin(at: 1000 * Self.ms)
        for (at, token, opened) in [(1150, 1, 1010), (1290, 1, 1010), (1310, 2, 1300), (1500, 2, 1300), (1505, 3, 1502)]
            as [(UInt64, UInt64, UInt64)]
        {
            var copy = context(token, opened: opened * Self.ms)
            tally.add(nil, &copy, since: RunningSince(context: copy.context.opened_ns, task: 0, runsOn: true), at: at * Self.ms)
        }
        tally.close(at: 1600 * Self.ms)
        #expect(tally.running == nil)
        let parts = tally.alsoRan(atLeast: 100 * Self.ms)
        #expect(parts.map(\.copy.token) == [1, 2])
        #expect(parts.map { $0.ranNanoseconds / Self.ms } == [280, 200])
        // One that is the stall's is none of the others.
        tally.close(at: 2400 * Self.ms)
        #expect(tally.running?.token == 3 && tally.alsoRan(atLeast: 250 * Self.ms).map(\.copy.token) == [1])
    }

    @Test func `of many that are open the oldest are kept`() throws {
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
