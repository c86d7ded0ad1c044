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

    /// - Parameter samples: at which millisecond of the stall, and which context; nil: none.
    private func running(_ samples: [(at: UInt64, token: UInt64?, opened: UInt64)], until: UInt64) throws -> UInt64? {
        let tally = try #require(RunningTally())
        let since = 1000 * Self.ms
        tally.begin(at: since)
        for sample in samples {
            if let token = sample.token {
                var copy = context(token, opened: sample.opened)
                tally.add(nil, &copy, at: since + sample.at * Self.ms)
            } else {
                tally.add(nil, nil, at: since + sample.at * Self.ms)
            }
        }
        tally.close(at: since + until * Self.ms)
        return tally.running?.token
    }

    @Test func `one sample stands for the whole stall`() throws {
        #expect(try running([(at: 150, token: 1, opened: 1)], until: 300) == 1)
        #expect(try running([(at: 150, token: nil, opened: 1)], until: 300) == nil)
        #expect(try running([], until: 300) == nil)
    }

    /// Another process's: the time before it was first seen may be another one's.
    @Test func `a context without a beginning has what lies between its samples`() throws {
        #expect(try running([(at: 150, token: 1, opened: 0)], until: 200) == nil)
        #expect(try running([(at: 50, token: 1, opened: 0), (at: 150, token: 1, opened: 0)], until: 200) == 1)
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
        tally.close(at: 40)
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
            tally.add(nil, &copy, at: at * Self.ms)
        }
        tally.close(at: 1600 * Self.ms)
        #expect(tally.running == nil)
        let parts = tally.alsoRan(atLeast: 100 * Self.ms)
        #expect(parts.map(\.copy.token) == [1, 2])
        #expect(parts.map { $0.ranNanoseconds / Self.ms } == [290, 210])
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
