import Foundation
import LagMonitorDelivery
import Testing

@testable import LagOutput

struct OTLPFormatTests {
    /// The attributes of the only log record, with values as written (integers are strings).
    static func attributes(_ request: [String: Any]) throws -> [String: Any] { try values(record(request)["attributes"]) }

    static func record(_ request: [String: Any]) throws -> [String: Any] {
        let resources = try #require(request["resourceLogs"] as? [[String: Any]])
        let scopes = try #require(resources.first?["scopeLogs"] as? [[String: Any]])
        let records = try #require(scopes.first?["logRecords"] as? [[String: Any]])
        #expect(resources.count == 1 && scopes.count == 1 && records.count == 1)
        return try #require(records.first)
    }

    private static func values(_ attributes: Any?) throws -> [String: Any] {
        var values: [String: Any] = [:]
        for attribute in try #require(attributes as? [[String: Any]]) {
            let key = try #require(attribute["key"] as? String)
            let value = try #require(attribute["value"] as? [String: Any])
            #expect(attribute.count == 2 && value.count == 1 && values[key] == nil, "\(key)")
            values[key] = value.values.first
        }
        return values
    }

    private func parsed(_ record: StallRecord, context: ProcessContext = Sample.context) throws -> [String: Any] {
        try Sample.parse(FormatTests.line(record, .otlp, context: context))
    }

    @Test func `a stall is written as expected in the OTLP format`() throws {
        let line = try FormatTests.line(Sample.record(frames: 1), .otlp)
        #expect(
            line == """
                {"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"unknown_service:shop"}},\
                {"key":"host.name","value":{"stringValue":"host-1"}},{"key":"process.pid","value":{"intValue":"4242"}},\
                {"key":"process.executable.name","value":{"stringValue":"shop"}}]},"scopeLogs":[{"scope":{"name":"lagmonitor"},\
                "logRecords":[{"timeUnixNano":"1709251199123456789","severityNumber":13,"severityText":"warning",\
                "eventName":"lagmonitor.stall","body":{"stringValue":"main stood still for 250 ms"},"attributes":[\
                {"key":"thread.id","value":{"intValue":"4242"}},{"key":"thread.name","value":{"stringValue":"main"}},\
                {"key":"lagmonitor.id","value":{"stringValue":"018df74f-8093-7abc-9234-56789abcdef0"}},\
                {"key":"lagmonitor.phase","value":{"stringValue":"end"}},{"key":"lagmonitor.kind","value":{"stringValue":"callout"}},\
                {"key":"lagmonitor.fingerprint","value":{"stringValue":"v1:0123456789abcdef"}},\
                {"key":"lagmonitor.stack_hash","value":{"stringValue":"0123456789abcdef"}},\
                {"key":"lagmonitor.duration_ms","value":{"doubleValue":250.000}},\
                {"key":"lagmonitor.threshold_ms","value":{"doubleValue":150.000}},\
                {"key":"lagmonitor.mono_us","value":{"intValue":"9007199254740993"}},\
                {"key":"lagmonitor.boot_id","value":{"stringValue":"00112233445566778899aabbccddeeff"}},\
                {"key":"lagmonitor.loop","value":{"stringValue":"main"}},{"key":"lagmonitor.cause","value":{"stringValue":"unknown"}},\
                {"key":"lagmonitor.capture","value":{"stringValue":"none"}},{"key":"lagmonitor.samples","value":{"intValue":"0"}},\
                {"key":"lagmonitor.samples_matched","value":{"intValue":"0"}},{"key":"lagmonitor.seq","value":{"intValue":"0"}},\
                {"key":"lagmonitor.dropped_total","value":{"intValue":"0"}},\
                {"key":"lagmonitor.suppressed_total","value":{"intValue":"0"}},\
                {"key":"lagmonitor.frames_total","value":{"intValue":"1"}},{"key":"code.stacktrace","value":{"stringValue":\
                "Shop.Frame0.run + 12 (/opt/shop/bin/shop + 0x1000, build-id 0123456789abcdef0123456789abcdef01234567)"}}\
                ]}]}]}]}

                """
        )
    }

    @Test(arguments: [(StallRecord.Severity.warning, 13), (.error, 17), (.critical, 21)])
    func `the severity is mapped to the OTLP severity number`(severity: StallRecord.Severity, number: Int) throws {
        var record = Sample.record()
        record.severity = severity
        let log = try Self.record(parsed(record))
        #expect(log["severityNumber"] as? Int == number && log["severityText"] as? String == severity.rawValue)
    }

    /// JSON readers parse numbers as doubles, so 64-bit integers are strings, in the range of an int64.
    @Test func `whole numbers are written as strings in the range of int64`() throws {
        var record = Sample.record()
        record.samples = .max
        record.sequence = 9_007_199_254_740_993
        let attributes = try Self.attributes(parsed(record))
        #expect(attributes["lagmonitor.samples"] as? String == "9223372036854775807")
        #expect(attributes["lagmonitor.seq"] as? String == "9007199254740993")
        record.startRealtimeNanoseconds = -1
        #expect(try Self.record(parsed(record))["timeUnixNano"] as? String == "0")
    }

    @Test func `the service is a resource attribute`() throws {
        var context = Sample.context
        context.serviceName = "cart"
        context.serviceVersion = "1.2"
        let resources = try #require(parsed(Sample.record(), context: context)["resourceLogs"] as? [[String: Any]])
        let values = try Self.values((resources[0]["resource"] as? [String: Any])?["attributes"])
        #expect(values["service.name"] as? String == "cart" && values["service.version"] as? String == "1.2")
    }

    @Test func `locks and lock owners are attributes`() throws {
        var record = Sample.record()
        record.culprit = "Shop.render"
        record.evidence.lockKind = .mutex
        record.evidence.lockAddress = 0xabc
        record.evidence.lockOwner = .init(threadID: 7, threadName: "w", waitsFor: 0x10, frames: [Sample.frame(9)])
        record.evidence.lockCycle = [.init(threadID: 7, threadName: "w", waitsFor: 0x10)]
        let attributes = try Self.attributes(parsed(record))
        #expect(attributes["code.function.name"] as? String == "Shop.render")
        #expect(attributes["lagmonitor.lock_address"] as? String == "0xabc")
        #expect(attributes["lagmonitor.lock_owner.thread_id"] as? String == "7")
        #expect((attributes["lagmonitor.lock_owner.stacktrace"] as? String)?.hasPrefix("Shop.Frame9.run + 12 (") == true)
        let cycle = try #require((attributes["lagmonitor.lock_cycle"] as? [String: Any])?["values"] as? [[String: String]])
        #expect(cycle == [["stringValue": "thread 7 'w' waits for 0x10"]])
    }

    @Test func `a notice becomes a log record`() throws {
        let request = try Sample.parse(FormatTests.notices(.otlp)[0])
        let record = try Self.record(request)
        #expect(record["eventName"] as? String == "lagmonitor.dropped")
        #expect((record["body"] as? [String: String])?["stringValue"] == "3 records lost: the output did not accept them")
        let attributes = try Self.attributes(request)
        #expect(attributes["lagmonitor.dropped"] as? String == "3" && attributes["lagmonitor.dropped_total"] as? String == "7")
        #expect(attributes["lagmonitor.reason"] as? String == "sink_failed")
    }
}
