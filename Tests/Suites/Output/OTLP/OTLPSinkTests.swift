import Foundation
import LagActivity
import LagMonitorDelivery
import LagOutput
import Synchronization
import TestSupport
import Testing

@testable import LagMonitorOTLP

private func line(_ number: Int) -> String { "{\"resourceLogs\":[{\"n\":\(number)}]}\n" }

struct OTLPSinkTests {
    private func sink(_ transport: ScriptedTransport, attempts: Int = 3) -> OTLPSink {
        var rule = OTLPRetryRule()
        rule.attempts = attempts
        rule.firstDelay = .milliseconds(1)
        return OTLPSink(name: "otlp:test", rule: rule) { transport }
    }

    @Test func `a line is sent as one request`() throws {
        let transport = ScriptedTransport()
        let sink = sink(transport)
        #expect(sink.format == .otlp)
        try sink.put(line(1))
        #expect(eventually { transport.bodies.count == 1 })
        #expect(transport.bodies == [#"{"resourceLogs":[{"n":1}]}"#])
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
    }

    @Test func `waiting lines are sent together in order`() throws {
        let transport = ScriptedTransport(holding: true)
        let sink = sink(transport)
        try sink.put(line(0))
        #expect(eventually { transport.bodies.count == 1 })
        for number in 1...100 { try sink.put(line(number)) }
        transport.release()
        #expect(eventually { transport.bodies.count == 3 })
        let numbers = try transport.bodies.map { body -> [Int] in
            let request = try #require(JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: [[String: Int]]])
            return request["resourceLogs"]?.compactMap { $0["n"] } ?? []
        }
        #expect(numbers.map(\.count) == [1, 64, 36] && numbers.flatMap { $0 } == Array(0...100))
    }

    @Test func `a failed request is repeated with the same lines`() throws {
        let transport = ScriptedTransport([503, nil, 200])
        let sink = sink(transport)
        try sink.put(line(1))
        #expect(eventually { transport.bodies.count == 3 })
        sink.close()
        #expect(Set(transport.bodies).count == 1 && sink.takeAbandonedLines() == 0)
    }

    /// Returned lines have no place in the queue: a line that is accepted meanwhile would be sent before them.
    @Test func `no line is accepted until returned lines are taken back`() throws {
        let transport = ScriptedTransport([503])
        let sink = sink(transport)
        sink.returnsUndelivered()
        try sink.put(line(1))
        #expect(eventually { (try? sink.put(line(2))) == nil })
        let returned = sink.takeReturned(all: false).lines.map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(returned.first == line(1) && sink.unsettledLines == 0)
        try sink.put(line(3))
        #expect(eventually { transport.bodies.last?.contains("3") ?? false })
        sink.close()
    }

    @Test func `a refused request is counted and the next one is sent`() throws {
        let transport = ScriptedTransport([400, 200])
        let sink = sink(transport)
        try sink.put(line(1))
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        #expect(sink.lossReason == "the receiver answered with status 400")
        try sink.put(line(2))
        #expect(eventually { transport.bodies.count == 2 })
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
        #expect(sink.lossReason == "the receiver answered with status 400")
    }

    @Test func `rejected lines are counted with their reason`() throws {
        let transport = ScriptedTransport(rejecting: [0, 1])
        let sink = sink(transport)
        try sink.put(line(1))
        #expect(eventually { sink.unsettledLines == 0 })
        #expect(sink.takeAbandonedLines() == 0 && sink.lossReason == nil)
        try sink.put(line(2))
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        #expect(sink.lossReason == "the receiver rejected lines")
    }

    @Test func `lines that are lost at closing have the reason of the last request`() throws {
        let transport = ScriptedTransport(Array(repeating: 503, count: 1000))
        let sink = sink(transport, attempts: 1000)
        try sink.put(line(1))
        #expect(eventually { transport.bodies.count > 1 })
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        sink.close()
        #expect(sink.takeAbandonedLines() == 1)
        #expect(sink.lossReason == "the receiver answered with status 503")
    }

    /// It is not known why the last request had no answer.
    @Test func `lines that are lost at closing do not have the reason of earlier ones`() throws {
        let transport = ScriptedTransport([503, nil])
        let sink = sink(transport, attempts: 2)
        try sink.put(line(1))
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        #expect(sink.lossReason == "no answer of the receiver")
        try sink.put(line(2))
        #expect(eventually { sink.unsettledLines == 0 })
        transport.hold()
        try sink.put(line(3))
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        sink.close()
        #expect(sink.takeAbandonedLines() == 1 && sink.lossReason == nil)
    }

    @Test func `lines are counted as lost after the last attempt`() throws {
        let transport = ScriptedTransport([503, 503, 503, 200])
        let sink = sink(transport)
        try sink.put(line(1))
        #expect(eventually { sink.takeAbandonedLines() == 1 })
        #expect(transport.bodies.count == 3)
    }

    /// With a receiver that does not answer, memory is bounded and the reporter does not wait.
    @Test func `a full queue refuses immediately and accepts again later`() throws {
        let transport = ScriptedTransport(holding: true)
        let sink = sink(transport)
        for number in 0..<OTLPSink.capacity { try sink.put(line(number)) }
        #expect(throws: SinkError(.tooSlow, path: "otlp:test")) { try sink.put(line(-1)) }
        transport.release()
        #expect(eventually { (try? sink.put(line(-2))) != nil })
        #expect(eventually { transport.bodies.last?.contains("-2") == true })
        #expect(!transport.bodies.contains { $0.contains("-1}") })
    }

    @Test func `closing waits until the deadline and counts the remaining lines`() throws {
        let transport = ScriptedTransport(holding: true)
        let sink = sink(transport)
        for number in 0..<3 { try sink.put(line(number)) }
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        sink.close()
        #expect(sink.takeAbandonedLines() == 3 && eventually { transport.cancelled == 1 })
        #expect(throws: SinkError(.closed, path: "otlp:test")) { try sink.put(line(4)) }
        // An answer after closing changes nothing.
        transport.release()
        #expect(sink.takeAbandonedLines() == 0)
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
        try sink.resume()
        try sink.put(line(5))
        #expect(eventually { transport.bodies.last?.contains("5") == true })
    }

    @Test func `closing waits for a request in progress`() throws {
        let transport = ScriptedTransport(holding: true)
        let sink = sink(transport)
        try sink.put(line(1))
        Thread.detachNewThread {
            usleep(100_000)
            transport.release()
        }
        sink.close()
        #expect(sink.takeAbandonedLines() == 0)
    }

    /// A cancelled transport must not get a request.
    @Test func `closing waits until a request has been started`() throws {
        final class SlowTransport: OTLPTransport {
            let isPosting = Atomic(false)
            let wasCancelledWhilePosting = Atomic(false)
            let cancelled = Atomic(false)
            func post(_ body: Data, _ done: @escaping @Sendable (OTLPAnswer) -> Void) {
                isPosting.store(true, ordering: .sequentiallyConsistent)
                usleep(200_000)
                isPosting.store(false, ordering: .sequentiallyConsistent)
            }
            func cancel() {
                if isPosting.load(ordering: .sequentiallyConsistent) {
                    wasCancelledWhilePosting.store(true, ordering: .sequentiallyConsistent)
                }
                cancelled.store(true, ordering: .sequentiallyConsistent)
            }
        }
        let transport = SlowTransport()
        let sink = OTLPSink(name: "otlp:test", rule: OTLPRetryRule()) { transport }
        try sink.put(line(1))
        #expect(eventually { transport.isPosting.load(ordering: .sequentiallyConsistent) })
        sink.limitWaiting(until: MonotonicTime(nanoseconds: 0))
        sink.close()
        #expect(eventually { transport.cancelled.load(ordering: .sequentiallyConsistent) })
        let wasCancelledWhilePosting = transport.wasCancelledWhilePosting.load(ordering: .sequentiallyConsistent)
        #expect(!wasCancelledWhilePosting)
    }

    /// Notices are not records, and their losses must be announced again.
    @Test func `a lost notice is returned and announced again`() throws {
        let transport = ScriptedTransport([400, 200])
        let sink = sink(transport)
        let context = ProcessContext(pid: 1, processName: "p", hostName: "h", bootID: "b")
        var output = RecordOutput(encoder: RecordEncoder(context: context, format: .otlp), sink: sink)
        output.countDropped(7, reason: .queueFull)
        try output.announce(now: OutputTime(realtimeNanoseconds: 1, monotonicNanoseconds: 1))
        #expect(output.unannounced == 0)
        #expect(eventually { sink.unsettledLines == 0 })
        #expect(sink.takeAbandonedLines() == 0)
        try output.announce(now: OutputTime(realtimeNanoseconds: 2, monotonicNanoseconds: 2))
        #expect(eventually { transport.bodies.count == 2 })
        #expect(transport.bodies.allSatisfy { $0.contains("7 records lost") } && output.droppedTotal == 7)
    }

    @Test(arguments: ["{}\n", "", "{\"resourceLogs\":[]}", "{\"schema\":\"lagmonitor.stall.v1\"}\n"])
    func `a line of another format is refused`(text: String) {
        #expect(throws: SinkError(.writeFailed, path: "otlp:test", code: EINVAL)) { try sink(ScriptedTransport()).put(text) }
    }

    @Test(arguments: [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/logs"), ("https://c/", "https://c/v1/logs"),
        ("http://c/otlp", "http://c/otlp/v1/logs"), ("http://c:1/v1/logs", "http://c:1/v1/logs"),
    ])
    func `the path of the URL follows the specification`(endpoint: String, url: String) {
        #expect(OTLPSink.url(endpoint)?.absoluteString == url)
    }

    @Test(arguments: ["", "c:4318", "ftp://c", "http://", "http://c?x=1", "http://c#x", "http://a:b:c", "http://a b"])
    func `an invalid endpoint is refused`(endpoint: String) {
        let error = #expect(throws: SinkError.self) { try OTLPSink(endpoint: endpoint) }
        #expect(error?.description.hasPrefix("cannot open otlp:\(endpoint): not a URL with a host") == true)
    }

    @Test(arguments: [
        (["a b": "x"], "\"a b\" is not the name of a header"), (["": "x"], "\"\" is not the name of a header"),
        (["x-key": "a\r\nHost: b"], "the value of the header \"x-key\" contains a control character"),
    ])
    func `headers that would change the request are refused`(headers: [String: String], reason: String) {
        let error = #expect(throws: SinkError.self) { try OTLPSink(endpoint: "http://h:1", headers: headers) }
        #expect(error?.description == "cannot open otlp:http://h:1: \(reason)")
    }

    @Test(arguments: [
        ("http://u:secret@c:1/otlp", "otlp:http://c:1/otlp"), ("https://u@c", "otlp:https://c"),
        ("http://u:se%40cret@[::1]:1", "otlp:http://[::1]:1"), ("http://c/a@b", "otlp:http://c/a@b"),
        ("http://c:4318", "otlp:http://c:4318"), ("ftp://u:se/cret@c", "otlp:ftp://c"), ("u:secret@c", "otlp:c"),
    ])
    func `the name of an endpoint contains no password`(endpoint: String, name: String) {
        #expect(OTLPSink.name(of: endpoint) == name)
    }

    /// It gives the spool file its name, so that waiting lines are found again.
    @Test func `the destination is the complete endpoint`() throws {
        let endpoint = "http://u:secret@127.0.0.1:9"
        let sink = try OTLPSink(endpoint: endpoint)
        #expect(sink.name == "otlp:http://127.0.0.1:9" && sink.destination == "otlp:\(endpoint)")
        #expect(self.sink(ScriptedTransport()).destination == "otlp:test")
    }

    /// The sink accepts the encoder's output.
    @Test func `lines of the encoder are accepted`() throws {
        let transport = ScriptedTransport()
        let sink = sink(transport)
        let context = ProcessContext(pid: 1, processName: "p", hostName: "h", bootID: "b")
        var output = RecordOutput(encoder: RecordEncoder(context: context, format: .otlp), sink: sink)
        let time = OutputTime(realtimeNanoseconds: 1, monotonicNanoseconds: 1)
        output.countDropped(1, reason: .queueFull)
        try output.announce(now: time)
        #expect(eventually { transport.bodies.count == 1 })
        let body = try #require(transport.bodies.first)
        #expect(try JSONSerialization.jsonObject(with: Data(body.utf8)) is [String: Any])
        #expect(body.contains("lagmonitor.dropped"))
    }
}
