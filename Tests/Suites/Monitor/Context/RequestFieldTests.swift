import Foundation
import LagMonitorTestKit
import LagReader
import Testing

@testable import LagMonitor
@testable import LagOutput

/// The fields of the work that ran, written to a line and read back.
struct RequestFieldTests {
    private static var record: StallRecord {
        var record = StallRecord.sample()
        record.request = .init(
            name: "GET /orders/:id",
            running: true,
            open: .microseconds(402_500),
            attributes: [.init(name: "tenant \"a\"", value: "ü")]
        )
        record.requestsOpen = [.init(name: "GET /health", running: false, open: .milliseconds(12))]
        record.traceID = "0af7651916cd43dd8448eb211c80319c"
        record.spanID = "b7ad6b7169203331"
        record.task = .init(id: 42, name: "order", priority: 25)
        record.state = [.init(name: "jobs_waiting", value: "12")]
        record.frames.append(.init(pc: 0x1000, symbol: "Shop.serve", isAsync: true))
        return record
    }

    private func line(_ record: StallRecord) throws -> String {
        var encoder = RecordEncoder(
            context: ProcessContext(pid: 1, processName: "shop", hostName: "host", bootID: String(repeating: "0", count: 32))
        )
        return encoder.encode(record) { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `the line contains the fields of trace, request, task and state`() throws {
        let line = try line(Self.record)
        for part in [
            #""trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"b7ad6b7169203331","#,
            #""request":{"name":"GET /orders/:id","running":true,"open_ms":402.500,"attributes":{"tenant \"a\"":"ü"}},"#,
            #""requests_open":[{"name":"GET /health","running":false,"open_ms":12.000}],"#,
            #""task":{"id":42,"name":"order","priority":25},"state":{"jobs_waiting":"12"},"#, #""async":true"#,
        ] { #expect(line.contains(part), "\(part) in \(line)") }
        #expect(try self.line(StallRecord.sample()).contains("request") == false)
    }

    @Test func `the line check accepts the request fields and reports damaged ones`() throws {
        func errors(_ line: String) -> [String] {
            var check = LineCheck()
            return Data(line.dropLast().utf8).withUnsafeBytes { check.validationErrors(in: $0).map { "\($0)" } }
        }
        let line = try line(Self.record)
        #expect(errors(line).isEmpty, "\(errors(line))")
        for (good, bad) in [
            (#""running":true"#, #""running":1"#), (#""id":42"#, #""id":-1"#), ("0af7651916cd", "0AF7651916CD"), (#":"ü""#, ":7"),
        ] {
            #expect(!errors(line.replacing(good, with: bad)).isEmpty, "\(bad)")
        }
    }

    @Test func `the reader groups stalls by request name`() throws {
        let line = try line(Self.record)
        var scanner = LineScanner()
        let name = Data(line.dropLast().utf8).withUnsafeBytes { bytes in
            scanner.scan(bytes) == nil ? scanner.withRequestName { String(decoding: $0, as: UTF8.self) } : nil
        }
        #expect(name == "GET /orders/:id" && GroupKey(rawValue: "request") == .request)
    }

    @Test func `suspended callers do not change the grouping of stalls`() {
        let frames = [
            StallRecord.Frame(pc: 1, symbol: "Shop.save", inApp: true),
            StallRecord.Frame(pc: 2, symbol: "start_thread", inApp: false),
        ]
        let callers = [StallRecord.Frame(pc: 3, symbol: "Shop.serve", inApp: true, isAsync: true)]
        #expect(Array((frames + callers).withoutCallersOfOwnCode) == frames)
        let foreign = [StallRecord.Frame(pc: 2, symbol: "start_thread", inApp: false)]
        #expect(Array((foreign + callers).withoutCallersOfOwnCode) == foreign + callers)
    }

    @Test func `a suspended caller that only forwards the call is left out, a caller on the stack is not`() {
        func frame(_ symbol: String, forwards: Bool = false, isAsync: Bool = true) -> StallRecord.Frame {
            var frame = StallRecord.Frame(pc: 1, symbol: symbol, inApp: true, isAsync: isAsync ? true : nil)
            frame.isForwarder = forwards
            return frame
        }
        let stack = ["usleep", "closure in Shop.load", "swift_job_run", "start_thread"].map { frame($0, isAsync: false) }
        let callers = [
            // Belongs to the job's own function.
            frame("closure in Shop.load", forwards: true), frame("reabstraction thunk", forwards: true),
            // A recursion.
            frame("Shop.walk"), frame("Shop.walk"), frame("Shop.walk", forwards: true),
            // The function that it is named after was inlined into it.
            frame("Shop.find", forwards: true), frame("closure in Shop.main"), frame("closure in Shop.main", forwards: true),
        ]
        let kept = (stack + callers).withoutForwarders.dropFirst(stack.count).map(\.symbol)
        #expect(kept == ["Shop.walk", "Shop.walk", "Shop.find", "closure in Shop.main"])
        // These are on the stack.
        let calls = [frame("Shop.find", isAsync: false), frame("Shop.find", forwards: true, isAsync: false)]
        #expect(calls.withoutForwarders == calls)
    }
}
