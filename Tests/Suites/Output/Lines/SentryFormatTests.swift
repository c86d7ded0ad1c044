import Foundation
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

struct SentryFormatTests {
    private func parsed(_ record: StallRecord, context: ProcessContext = Sample.context) throws -> [String: Any] {
        try Sample.parse(FormatTests.line(record, .sentry, context: context))
    }

    private func exception(_ event: [String: Any]) throws -> [String: Any] {
        try #require(((event["exception"] as? [String: Any])?["values"] as? [[String: Any]])?.first)
    }

    @Test func `a stall is written as expected in the Sentry format`() throws {
        let line = try FormatTests.line(Sample.record(frames: 2), .sentry)
        #expect(
            line == """
                {"event_id":"018df74f80937abc923456789abcdef0","timestamp":"2024-02-29T23:59:59.123456789Z","platform":"native",\
                "level":"warning","logger":"lagmonitor","server_name":"host-1","fingerprint":["v1:0123456789abcdef"],\
                "tags":{"event":"stall","cause":"unknown","stall_id":"018df74f-8093-7abc-9234-56789abcdef0","phase":"end",\
                "kind":"callout","loop":"main"},"exception":{"values":[{"type":"Stall","value":"main stood still for 250 ms",\
                "thread_id":4242,"mechanism":{"type":"lagmonitor","handled":true},"stacktrace":{"frames":[\
                {"instruction_addr":"0x7f0000001001","function":"Shop.Frame1.run","symbol_addr":"0x7f0000000ff5",\
                "package":"/opt/shop/bin/shop","in_app":true},{"instruction_addr":"0x7f0000001000","function":"Shop.Frame0.run",\
                "symbol_addr":"0x7f0000000ff4","package":"/opt/shop/bin/shop","in_app":true}]}}]},"threads":{"values":[\
                {"id":4242,"name":"main","crashed":false,"current":true}]},"debug_meta":{"images":[{"type":"elf",\
                "code_id":"0123456789abcdef0123456789abcdef01234567","debug_id":"67452301-ab89-efcd-0123-456789abcdef",\
                "code_file":"/opt/shop/bin/shop","image_addr":"0x7f0000000000"}]},"contexts":{"lagmonitor":{"pid":4242,\
                "process_name":"shop","id":"018df74f-8093-7abc-9234-56789abcdef0","phase":"end","kind":"callout",\
                "fingerprint":"v1:0123456789abcdef","stack_hash":"0123456789abcdef","duration_ms":250.000,"threshold_ms":150.000,\
                "mono_us":9007199254740993,"boot_id":"00112233445566778899aabbccddeeff","loop":"main","cause":"unknown",\
                "capture":"none","samples":0,"samples_matched":0,"seq":0,"dropped_total":0,"suppressed_total":0,"frames_total":2}}}

                """
        )
    }

    /// Sentry keeps one event per ID.
    @Test func `each line of a stall is a separate Sentry event`() throws {
        var ids: Set<String> = []
        for phase in StallRecord.Phase.allCases {
            var record = Sample.record()
            record.phase = phase
            let event = try parsed(record)
            let id = try #require(event["event_id"] as? String)
            #expect(id.count == 32 && id.allSatisfy { $0.isHexDigit && !$0.isUppercase })
            ids.insert(id)
            #expect((event["tags"] as? [String: String])?["stall_id"] == record.id.description)
            #expect(try parsed(record)["event_id"] as? String == id, "the same line is the same event")
        }
        #expect(ids.count == 3)
    }

    /// 48 bits of milliseconds have a larger range than 64 bits of nanoseconds.
    @Test func `any stall ID can be converted to an event ID`() throws {
        var record = Sample.record()
        record.id = try #require(StallID("ffffffff-ffff-7fff-bfff-ffffffffffff"))
        record.phase = .end
        #expect(try parsed(record)["event_id"] as? String == "ffffffffffff7fffbfffffffffffffff")
        record.phase = .begin
        #expect(try parsed(record)["event_id"] as? String == "ffffffffffff7fffbffffffffffffffe")
    }

    @Test(arguments: [(StallRecord.Severity.warning, "warning"), (.error, "error"), (.critical, "fatal")])
    func `severities are mapped to Sentry levels`(severity: StallRecord.Severity, level: String) throws {
        var record = Sample.record()
        record.severity = severity
        #expect(try parsed(record)["level"] as? String == level)
    }

    /// Sentry would expand inlined frames a second time, and refuses a stack without frames.
    @Test func `inlined frames have no address and an empty stack is omitted`() throws {
        var record = Sample.record(frames: 2)
        record.frames[0].inlined = true
        record.frames[0].file = "a.swift"
        record.frames[0].line = 7
        let frames = try #require((exception(parsed(record))["stacktrace"] as? [String: Any])?["frames"] as? [[String: Any]])
        #expect(frames[1]["instruction_addr"] == nil && frames[1]["filename"] as? String == "a.swift")
        #expect(frames[1]["lineno"] as? Int == 7 && frames[0]["instruction_addr"] != nil)
        record.frames = []
        #expect(try exception(parsed(record))["stacktrace"] == nil && parsed(record)["debug_meta"] == nil)
    }

    @Test func `each lock owner is listed once as a thread`() throws {
        var record = Sample.record()
        let owner = StallRecord.LockOwner(threadID: 7, threadName: "w", frames: [Sample.frame(9)])
        record.evidence.lockOwner = owner
        record.evidence.lockCycle = [.init(threadID: record.threadID), owner]
        let threads = try #require((parsed(record)["threads"] as? [String: Any])?["values"] as? [[String: Any]])
        #expect(threads.map { $0["id"] as? Int } == [4242, 7])
        #expect(threads.map { $0["current"] as? Bool } == [true, false])
        try #require(threads.count == 2)
        #expect(threads[0]["stacktrace"] == nil && threads[1]["stacktrace"] != nil)
    }

    @Test func `pool threads are listed once per stack`() throws {
        var record = Sample.record(frames: 2)
        record.workers = [
            .init(threadIDs: [record.threadID, 5]), .init(threadIDs: [7, 8], frames: [Sample.frame(9)]),
            .init(threadIDs: [9], frames: [Sample.frame(8)]),
        ]
        let event = try parsed(record)
        let threads = try #require((event["threads"] as? [String: Any])?["values"] as? [[String: Any]])
        #expect(threads.map { $0["id"] as? Int } == [4242, 7, 9])
        #expect(threads.map { $0["name"] as? String } == ["main", "2 workers alike", nil])
        try #require(threads.count == 3)
        #expect(threads[1]["stacktrace"] != nil && threads[2]["stacktrace"] != nil)
        let own = (event["contexts"] as? [String: [String: Any]])?["lagmonitor"]
        #expect(own?["workers_total"] as? Int == 5)
        for format in [RecordFormat.ecs, .otlp] { #expect(try FormatTests.line(record, format).contains("workers_total")) }
    }

    @Test(arguments: [
        ("0123456789abcdef0123456789abcdef01234567", "67452301-ab89-efcd-0123-456789abcdef"),
        ("ff", "000000ff-0000-0000-0000-000000000000"), ("", nil), ("not hex", nil),
    ])
    func `the debug ID is the GUID form of the build ID`(buildID: String, debugID: String?) {
        var frame = Sample.frame(0)
        frame.buildID = buildID
        #expect(SentryImage.all(of: [frame, frame]).map(\.debugID) == (debugID.map { [$0] } ?? []))
    }

    @Test func `a notice becomes a Sentry message`() throws {
        let events = try FormatTests.notices(.sentry).map(Sample.parse)
        #expect((events[0]["logentry"] as? [String: String])?["formatted"] == "3 records lost: the output did not accept them")
        #expect(events[0]["fingerprint"] as? [String] == ["lagmonitor.dropped"])
        #expect(events[1]["fingerprint"] as? [String] == ["v1:0123456789abcdef", "lagmonitor.suppressed"])
        #expect(Set(events.compactMap { $0["event_id"] as? String }).count == 3)
        #expect(events.allSatisfy { $0["exception"] == nil })
    }

    @Test func `the release is composed of service name and version`() throws {
        var context = Sample.context
        context.serviceName = "cart"
        #expect(try parsed(Sample.record(), context: context)["release"] == nil)
        context.serviceVersion = "1.2"
        #expect(try parsed(Sample.record(), context: context)["release"] as? String == "cart@1.2")
    }
}
