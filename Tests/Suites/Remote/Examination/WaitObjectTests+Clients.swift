internal import LagActivity
internal import Testing

@testable internal import LagRemote

extension WaitObjectTests {
    /// Beside a signalfd, so that each member is polled by itself. The program may not want that client yet.
    @Test func `a client at a socket that is reported once is pending work if it came during the same work`() throws {
        let probe = try ObjectProbe("signalfd-edge-listener")
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        func work(_ stretch: UInt64) -> PendingWork { examiner.examine(limit: .max, at: 1, stretch: stretch).work }
        #expect(work(6) == .none)
        #expect(try probe.ask("k") == 1)
        #expect(work(6) == .pending)
        #expect(try probe.ask("t") == 1 && probe.ask("t") == 0)
        #expect(work(8) == .unknown && probe.look().obstacle == .edge)
        #expect(examiner.proof(limit: .max, at: 1, stretch: 8)?.isWorkPending != true)
    }

    /// As with a terminal, only what its user does is work.
    @Test func `a wait for a display server alone is a wait for its user`() throws {
        let probe = try ObjectProbe("display")
        let one = try probe.sleepingObject(in: "o")
        #expect(probe.look(one) == WaitObject.Work(pending: .none, kind: .terminal))
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("w") == 1)
        #expect(probe.look(one) == WaitObject.Work(pending: .pending, kind: .terminal))
    }

    /// The bytes may be there on purpose, such as a job server's.
    @Test func `a wait for one pipe stays a blocking read when the program has written to it`() throws {
        let probe = try ObjectProbe("level")
        let one = try probe.sleepingObject(in: "o")
        #expect(probe.look(one) == WaitObject.Work(pending: .none, kind: .peer))
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("w") == 1)
        #expect(probe.look(one) == WaitObject.Work(pending: .pending, kind: .peer))
    }
}
