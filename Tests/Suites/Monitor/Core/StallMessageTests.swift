import LagModel
import Testing

@testable import LagMonitor

/// The message for people.
@Suite struct StallMessageTests {
    private func message(
        _ throttled: UInt64? = nil,
        _ cause: StallRecord.Cause = .runqueue,
        call: String? = nil,
        culprit: String = "Shop.compute",
        pending: Bool? = nil
    ) -> String {
        var record = StallRecord(
            id: StallID(startRealtimeNanoseconds: 0, randomHigh: 0, randomLow: 0),
            startRealtimeNanoseconds: 0,
            startMonotonicNanoseconds: 0,
            durationNanoseconds: 300_000_000,
            thresholdNanoseconds: 150_000_000,
            phase: .end,
            kind: .callout,
            loop: "main",
            threadID: 1
        )
        record.threadName = "main"
        record.cause = cause
        record.culprit = culprit
        record.evidence.syscall = call
        record.evidence.runDelayNanoseconds = 281_000_000
        record.evidence.throttledNanoseconds = throttled
        record.evidence.pending = pending
        return StallMessage(record).text
    }

    @Test func `a system call that is the culprit is named once`() {
        #expect(message(nil, .syscall, call: "read", culprit: "read") == "main was stalled for 300 ms, read")
        #expect(message(nil, .syscall, call: "read") == "main was stalled for 300 ms, read in Shop.compute")
    }

    @Test func `whether work waited is said if it is known`() {
        let begun = "main was stalled for 300 ms, computing in Shop.compute"
        #expect(message(nil, .cpu) == begun)
        #expect(message(nil, .cpu, pending: false) == "\(begun) while no event was seen to wait")
        #expect(message(nil, .cpu, pending: true) == "\(begun) while work waited")
    }

    @Test func `time lost to a CPU quota is reported where a processor was missing`() {
        let begun = "main was stalled for 300 ms, ready to run but without a processor"
        #expect(message(280_400_000) == "\(begun) (up to 280 ms of it by the CPU quota of its control group) in Shop.compute")
        #expect(message(nil) == "\(begun) in Shop.compute")
        #expect(message(900_000) == "\(begun) in Shop.compute", "less than a millisecond")
        #expect(message(280_400_000, .cpu) == "main was stalled for 300 ms, computing in Shop.compute")
    }
}
