import Testing

@testable import LagMonitor

struct StopWaitTests {
    private let wait = StopWait(begun: 1_000_000_000)

    @Test func `a sink gets a second, and its losses a moment to be counted`() {
        #expect(wait.sinkDeadline == 2_000_000_000)
        #expect(!wait.isOver(at: 2_200_000_000, isWriting: true) && wait.isOver(at: 2_250_000_000, isWriting: true))
    }

    @Test func `a reporter without a processor gets longer than a sink`() {
        #expect(!wait.isOver(at: 4_900_000_000, isWriting: false) && wait.isOver(at: 5_000_000_000, isWriting: false))
    }

    @Test func `files and lines get a part of the time for the sinks`() {
        #expect(wait.lineDeadline < wait.sinkDeadline && wait.lineDeadline > 1_000_000_000)
    }
}
