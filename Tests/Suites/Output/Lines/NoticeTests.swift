import Foundation
import Testing

@testable import LagOutput

/// The lines about suppressed and recurring stalls.
@Suite struct NoticeTests {
    private let time = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)

    private var suppression: Suppression {
        var suppression = Suppression(fingerprint: "v1:0123456789abcdef")
        suppression.count = 240
        suppression.firstRealtimeNanoseconds = Sample.start - 1_000_000_000
        suppression.lastRealtimeNanoseconds = Sample.start
        suppression.longestNanoseconds = 881_204_999
        suppression.totalNanoseconds = 50_911_310_000
        suppression.message = "main was stalled for 212 ms in Shop.render"
        return suppression
    }

    private var recurrence: Recurrence {
        Recurrence(
            fingerprint: "v1:0123456789abcdef",
            count: 3,
            windowNanoseconds: 600_000_000_000,
            firstRealtimeNanoseconds: Sample.start - 1_000_000_000,
            lastRealtimeNanoseconds: Sample.start,
            totalNanoseconds: 641_880_000,
            seenTotal: 7,
            culprit: "Shop.render",
            message: "main was stalled for 212 ms in Shop.render"
        )
    }

    private func text(_ suppression: Suppression, context: ProcessContext = Sample.context, limit: Int = 8000) throws -> String {
        var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit))
        let notice = Notice(.suppressed(suppression, total: 250), time: time)
        return encoder.encode(notice) { String(decoding: $0, as: UTF8.self) }
    }

    private func text(_ recurrence: Recurrence, context: ProcessContext = Sample.context, limit: Int = 8000) throws -> String {
        var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit))
        return encoder.encode(Notice(.recurring(recurrence), time: time)) { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `a suppression summary is written as expected`() throws {
        #expect(
            try text(suppression) == """
                {"schema":"lagmonitor.stall.v1","time":"2024-02-29T23:59:59.123456789Z","event":"suppressed",\
                "severity":"warning","message":"240 stalls of one fingerprint held back, the last one: main was stalled for 212 ms in Shop.render",\
                "fingerprint":"v1:0123456789abcdef","suppressed":240,"first_time":"2024-02-29T23:59:58.123456789Z",\
                "last_time":"2024-02-29T23:59:59.123456789Z","longest_ms":881.204,"total_ms":50911.310,\
                "mono_us":5000,"boot_id":"00112233445566778899aabbccddeeff","pid":4242,"process_name":"shop",\
                "host_name":"host-1","suppressed_total":250}

                """
        )
    }

    @Test func `a summary of several fingerprints contains their number`() throws {
        var several = suppression
        several.fingerprint = nil
        several.fingerprints = 17
        several.culprit = "Shop.render"
        let line = try Sample.parse(try text(several))
        #expect(line["fingerprint"] == nil && line["fingerprints"] as? Int == 17)
        #expect(line["culprit"] as? String == "Shop.render")
        #expect((line["message"] as? String)?.hasPrefix("240 stalls of 17 fingerprints held back") == true)
    }

    @Test func `a recurrence notice is written as expected`() throws {
        #expect(
            try text(recurrence) == """
                {"schema":"lagmonitor.stall.v1","time":"2024-02-29T23:59:59.123456789Z","event":"recurring",\
                "severity":"warning","message":"the same stall 3 times within 10 min, most recently: main was stalled for 212 ms in Shop.render",\
                "fingerprint":"v1:0123456789abcdef","first_time":"2024-02-29T23:59:58.123456789Z",\
                "last_time":"2024-02-29T23:59:59.123456789Z","total_ms":641.880,"count":3,"window_s":600.000,"seen_total":7,\
                "mono_us":5000,"boot_id":"00112233445566778899aabbccddeeff","pid":4242,"process_name":"shop",\
                "host_name":"host-1","culprit":"Shop.render"}

                """
        )
    }

    @Test func `notices are within the limit with the longest values`() throws {
        let long = String(repeating: "\u{1}", count: 5000)
        var held = suppression
        held.fingerprint = long
        held.count = .max
        held.firstRealtimeNanoseconds = .min
        held.longestNanoseconds = .max
        held.totalNanoseconds = .max
        held.message = long
        held.culprit = long
        var again = recurrence
        again.fingerprint = long
        again.count = .max
        again.windowNanoseconds = .max
        again.totalNanoseconds = .max
        again.seenTotal = .max
        again.message = long
        again.culprit = long
        for limit in [1024, 1500, 2000, 8000] {
            for line in [
                try text(held, context: Sample.extremeContext, limit: limit),
                try text(again, context: Sample.extremeContext, limit: limit),
            ] {
                #expect(line.utf8.count <= limit)
                #expect(try Sample.parse(line)["severity"] as? String == "warning")
            }
        }
    }

    @Test func `losses are announced before the next notice`() throws {
        let sink = MemorySink()
        var output = RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
        output.countDropped(2, reason: .queueFull)
        try output.write(Notice(.suppressed(suppression, total: 240), time: time))
        try output.write(Notice(.recurring(recurrence), time: time))
        let events = try sink.lines.map { try Sample.parse($0)["event"] as? String }
        #expect(events == ["dropped", "suppressed", "recurring"])
    }

    @Test func `a notice that was not written does not count as a lost record`() {
        let sink = MemorySink()
        var output = RecordOutput(encoder: RecordEncoder(context: Sample.context), sink: sink)
        sink.fail(with: SinkError(.writeFailed, path: "memory", code: 28))
        #expect(throws: SinkError.self) {
            try output.write(Notice(.suppressed(suppression, total: 240), time: time))
        }
        #expect(output.droppedTotal == 0 && output.unannounced == 0)
    }
}
