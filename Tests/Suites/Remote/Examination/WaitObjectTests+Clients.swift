internal import LagActivity
internal import Testing

@testable internal import LagRemote

extension WaitObjectTests {
    /// Beside a signalfd, so that each member is polled by itself.
    @Test func `a client that waits to be accepted is pending work, though it is reported once`() throws {
        let probe = try ObjectProbe("signalfd-edge-listener")
        #expect(probe.look().pending == .none)
        #expect(try probe.ask("k") == 1)
        #expect(probe.look().pending == .pending)
        #expect(try probe.ask("t") == 1 && probe.ask("t") == 0)
        #expect(probe.look().pending == .pending)
        let examiner = probe.makeExaminer()
        examiner.record(epoll: probe.number)
        #expect(examiner.proof(limit: .max, at: 1, stretch: 6)?.isWorkPending == true)
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

    @Test func `a wait for one pipe resembles that for a terminal once the program has written to it`() throws {
        let probe = try ObjectProbe("level")
        let one = try probe.sleepingObject(in: "o")
        #expect(probe.look(one) == WaitObject.Work(pending: .none, kind: .peer))
        #expect(try probe.answer() == 0)
        #expect(try probe.ask("w") == 1)
        #expect(probe.look(one) == WaitObject.Work(pending: .pending, kind: .terminal))
    }
}
