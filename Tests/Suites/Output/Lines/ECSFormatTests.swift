import Foundation
import LagMonitorDelivery
import Testing

@testable import LagOutput

struct ECSFormatTests {
    private func parsed(_ record: StallRecord, context: ProcessContext = Sample.context) throws -> [String: Any] {
        try Sample.parse(FormatTests.line(record, .ecs, context: context))
    }

    @Test func `a stall is written as expected in the ECS format`() throws {
        let line = try FormatTests.line(Sample.record(frames: 2), .ecs)
        #expect(
            line == """
                {"@timestamp":"2024-02-29T23:59:59.123456789Z","log":{"level":"warning","logger":"lagmonitor"},\
                "message":"main stood still for 250 ms","ecs":{"version":"8.11.0"},"event":{"kind":"event","category":["process"],\
                "type":["info"],"module":"lagmonitor","dataset":"lagmonitor.stall","action":"stall",\
                "id":"018df74f-8093-7abc-9234-56789abcdef0","reason":"unknown","duration":250000000,\
                "start":"2024-02-29T23:59:59.123456789Z","sequence":0},"host":{"name":"host-1"},\
                "process":{"pid":4242,"name":"shop","thread":{"id":4242,"name":"main"}},"error":{"type":"stall.unknown","stack_trace":\
                "Shop.Frame0.run + 12 (/opt/shop/bin/shop + 0x1000, build-id 0123456789abcdef0123456789abcdef01234567)\\n\
                Shop.Frame1.run + 12 (/opt/shop/bin/shop + 0x1001, build-id 0123456789abcdef0123456789abcdef01234567)"},\
                "lagmonitor":{"id":"018df74f-8093-7abc-9234-56789abcdef0","phase":"end","kind":"callout",\
                "fingerprint":"v1:0123456789abcdef","stack_hash":"0123456789abcdef","duration_ms":250.000,"threshold_ms":150.000,\
                "mono_us":9007199254740993,"boot_id":"00112233445566778899aabbccddeeff","loop":"main","cause":"unknown",\
                "capture":"none","samples":0,"samples_matched":0,"seq":0,"dropped_total":0,"suppressed_total":0,"frames_total":2}}

                """
        )
    }

    /// Elasticsearch expands such keys into objects, which can collide, and syslog-ng nests them.
    @Test func `no key has a dot`() throws {
        func check(_ value: Any) {
            if let object = value as? [String: Any] {
                for (key, value) in object {
                    #expect(!key.contains("."), "\(key)")
                    check(value)
                }
            } else if let array = value as? [Any] {
                for value in array { check(value) }
            }
        }
        for line in [try FormatTests.line(Sample.extremeRecord(), .ecs, limit: 1_048_576)] + (try FormatTests.notices(.ecs)) {
            check(try Sample.parse(line))
        }
    }

    @Test func `the ECS line contains service and lock owner`() throws {
        var context = Sample.context
        context.serviceName = "cart"
        context.serviceVersion = "1.2"
        var record = Sample.record()
        record.cause = .lock
        record.evidence.lockOwner = .init(threadID: 7, threadName: "w", waitsFor: 0x10, frames: [Sample.frame(9)])
        let parsed = try parsed(record, context: context)
        #expect(parsed["service"] as? [String: String] == ["name": "cart", "version": "1.2"])
        #expect((parsed["error"] as? [String: Any])?["type"] as? String == "stall.lock")
        let owner = try #require((parsed["lagmonitor"] as? [String: Any])?["lock_owner"] as? [String: Any])
        #expect(owner["thread_id"] as? Int == 7 && owner["waits_for"] as? String == "0x10")
        #expect((owner["stack_trace"] as? String)?.hasPrefix("Shop.Frame9.run") == true)
    }

    @Test func `a notice in the ECS format contains its event, reason and counts`() throws {
        let parsed = try Sample.parse(FormatTests.notices(.ecs)[0])
        #expect((parsed["event"] as? [String: Any])?["action"] as? String == "dropped")
        #expect(parsed["message"] as? String == "3 records lost: the output did not accept them")
        let own = try #require(parsed["lagmonitor"] as? [String: Any])
        #expect(own["dropped"] as? Int == 3 && own["reason"] as? String == "sink_failed" && own["mono_us"] as? Int == 5000)
        #expect(parsed["error"] == nil)
    }
}
