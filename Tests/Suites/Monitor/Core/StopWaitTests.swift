import Testing

@testable import LagMonitor

struct StopWaitTests {
    private let wait = StopWait(begun: 1_000_000_000)

    @Test func `a sink gets a second, and its losses a moment to be counted`() {
        #expect(wait.sinkDeadline == 2_000_000_000)
        let begun: UInt64 = 1_500_000_000
        #expect(!wait.isOver(at: 2_200_000_000, writingSince: begun) && wait.isOver(at: 2_250_000_000, writingSince: begun))
    }

    @Test func `a reporter without a processor gets longer than a sink`() {
        #expect(!wait.isOver(at: 4_900_000_000, writingSince: nil) && wait.isOver(at: 5_000_000_000, writingSince: nil))
    }

    @Test func `a write that has just begun is waited for`() {
        let begun: UInt64 = 3_000_000_000
        #expect(!wait.isOver(at: 3_200_000_000, writingSince: begun) && wait.isOver(at: 3_250_000_000, writingSince: begun))
        #expect(wait.isOver(at: 5_000_000_000, writingSince: 4_999_000_000))
    }

    @Test func `files and lines get a part of the time for the sinks`() {
        #expect(wait.lineDeadline < wait.sinkDeadline && wait.lineDeadline > 1_000_000_000)
    }
}
