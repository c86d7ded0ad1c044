import Glibc
import Testing

@testable import LagDetection

struct LatenessGuardTests {
    private func lost(from begun: UInt64, until expected: UInt64, endedAt now: UInt64, delay: UInt64 = 0) -> UInt64 {
        var lateness = LatenessGuard(toleranceNanoseconds: 25)
        let lost = lateness.lost(from: begun, until: expected, endedAt: now) { delay }
        #expect(lateness.lateCount == (lost > 0 ? 1 : 0))
        return lost
    }

    @Test func upToTheToleranceItIsOnTime() {
        #expect(lost(from: 50, until: 100, endedAt: 100) == 0)
        #expect(lost(from: 50, until: 100, endedAt: 125) == 0)
        #expect(lost(from: 50, until: 100, endedAt: 60) == 0)
    }

    @Test func beyondItTheWholeWaitIsLost() {
        #expect(lost(from: 50, until: 100, endedAt: 126) == 76)
    }

    @Test func aWaitWithoutEndIsNeverLate() {
        #expect(lost(from: 50, until: .max, endedAt: 1_000_000) == 0)
    }

    @Test func aDeadlineThatWasPastIsMeasuredFromTheBeginning() {
        #expect(lost(from: 1000, until: 100, endedAt: 1025) == 0)
        #expect(lost(from: 1000, until: 100, endedAt: 1026) == 26)
    }

    @Test func waitingForAProcessorIsNotBeingStopped() {
        #expect(lost(from: 50, until: 100, endedAt: 300, delay: 175) == 0)
        #expect(lost(from: 50, until: 100, endedAt: 300, delay: 174) == 250)
        #expect(lost(from: 50, until: 100, endedAt: 300, delay: .max) == 0)
    }

    @Test func aClockThatGoesBackIsNotLate() {
        #expect(lost(from: 200, until: 250, endedAt: 10) == 0)
    }

    @Test(arguments: [("12 345 6\n", 345), ("0 0 1", 0), ("1 2", 2)] as [(String, UInt64)])
    func theRunDelayIsTheSecondNumber(text: String, value: UInt64) {
        #expect(second(text) == value)
    }

    @Test(arguments: ["", "12", "12 ", "12 x 3"])
    func anUnknownFormIsNoNumber(text: String) {
        #expect(second(text) == nil)
    }

    @Test func theKernelTellsTheDelayOfAThread() throws {
        let first = try #require(RunDelay.read(getpid()))
        var delay = RunDelay(tid: getpid())
        #expect(delay.sinceMark() == 0)
        delay.mark()
        #expect(try #require(RunDelay.read(getpid())) >= first)
        #expect(RunDelay.read(-1) == nil)
    }

    private func second(_ text: String) -> UInt64? {
        Array(text.utf8).withUnsafeBytes { RunDelay.times(in: $0)?.delayNanoseconds }
    }
}
