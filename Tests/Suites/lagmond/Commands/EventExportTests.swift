internal import Foundation
internal import LagMonitorDelivery
internal import LagOutput
internal import LagReader
internal import Testing

@testable import MonitorProbe
@testable internal import lagmond

/// Compares what `export` creates from a native line with what the encoder of that format writes for the record.
struct EventExportTests {
    private static let formats = [RecordFormat.sentry, .otlp]
    private static let wide = try! LineLimits(maxLineBytes: LineLimits.allowedLineBytes.upperBound)

    /// Every value is drawn from hostile values.
    ///
    /// Known differences, which the records here do not have: a text that is composed of several (Sentry's `release`, OTLP's
    /// `lock_cycle` and `lock_chain`), if one of them was longer than its field in the native line and was cut there; and the
    /// id of a notice with a fingerprint.
    @Test(arguments: formats) func `an exported native line equals the line that the encoder of that format writes`(
        format: RecordFormat
    ) {
        var source = HostileRecords(seed: 11)
        for number in 0..<96 {
            var context = source.context()
            context.serviceName = context.serviceName.map { String($0.unicodeScalars.prefix(12)) }
            context.serviceVersion = context.serviceVersion.map { String($0.unicodeScalars.prefix(8)) }
            let written = content(number, &source)
            let direct = line(written, context, format)
            let exported = export([line(written, context, .native)], format)
            if let difference = Self.difference(exported.text, direct) { Issue.record("\(number): \(difference)") }
            #expect(exported.tally == LineTally(lines: 1))
        }
    }

    /// Reading loses nothing: the native line is the same when encoded again, also one that was cut.
    @Test(arguments: [1024, 8000, 48_000]) func `a native line that is read and encoded again is identical`(maxLineBytes: Int)
        throws
    {
        var source = HostileRecords(seed: 12)
        let limits = try LineLimits(maxLineBytes: maxLineBytes)
        for number in 0..<64 {
            let first = line(content(number, &source), source.context(), .native, limits)
            let read = try #require(Self.read(first), "\(String(decoding: first, as: UTF8.self))")
            let again = line(read.content, read.context, .native)
            if let difference = Self.difference(again, first) { Issue.record("\(number): \(difference)") }
        }
    }

    @Test func `build IDs are exported as debug images`() throws {
        let id = StallID(startRealtimeNanoseconds: 1_700_000_000_000_000_000, randomHigh: 1, randomLow: 2)
        var record = StallRecord(
            id: id,
            startRealtimeNanoseconds: 1_700_000_000_000_000_000,
            startMonotonicNanoseconds: 5,
            durationNanoseconds: 400_000_000,
            thresholdNanoseconds: 150_000_000,
            phase: .end,
            kind: .callout,
            loop: "main",
            threadID: 7
        )
        record.frames = [
            StallRecord.Frame(
                pc: 0x7f00_0000_1234,
                module: "/usr/lib/libshop.so",
                buildID: "00112233445566778899aabbccddeeff00112233",
                offset: 0x1234,
                symbol: "Shop.render",
                symbolOffset: 4,
                inApp: true
            )
        ]
        let context = ProcessContext(
            pid: 12,
            processName: "shop",
            hostName: "web-1",
            bootID: String(repeating: "a", count: 32),
            serviceName: "shop",
            serviceVersion: "1.2"
        )
        let text = export([line(.stall(record), context, .native)], .sentry).text
        #expect(text == line(.stall(record), context, .sentry))
        let event = try #require(JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
        let images = (event["debug_meta"] as? [String: Any])?["images"] as? [[String: Any]]
        #expect(images?.first?["image_addr"] as? String == "0x7f0000000000")
        #expect(event["server_name"] as? String == "web-1")
        #expect(event["release"] as? String == "shop@1.2")
    }

    @Test func `each stall is exported once and all other lines are counted`() throws {
        let begin = StallLines.line(1, phase: "begin")
        let end = StallLines.line(1)
        let unknown = StallLines.line(2).replacing(#""kind":"callout""#, with: #""kind":"dream""#)
        let input = begin + end + end + "{\"a\":\n" + #"{"level":"info"}"# + "\n" + unknown + StallLines.line(3, host: "web-2")
        let (status, output, errors) = try LagmondProcess.run(["export", "--format", "otlp", "a", "a"], files: ["a": input])
        #expect(status == 0)
        let lines = output.split(separator: "\n")
        #expect(lines.count == 3, "\(output)")
        #expect(lines.allSatisfy { $0.hasPrefix(#"{"resourceLogs":["#) })
        #expect(lines.last?.contains(#""host.name","value":{"stringValue":"web-2""#) == true)
        #expect(errors.contains("of 14 lines: 2 damaged"))
        #expect(errors.contains("2 without the required fields"))
        #expect(errors.contains("2 of other programs"))
    }

    @Test func `the fingerprint and time options select the exported stalls`() throws {
        let later = StallLines.line(3).replacing("2026-11-21T18:07:56", with: "2026-11-22T18:07:56")
        let input = StallLines.line(1) + StallLines.line(2, fingerprint: "v1:0000000000000001") + later
        let chosen = ["export", "--format", "sentry", "--fingerprint", "v1:6648237ade8e460d", "--until", "2026-11-22", "a"]
        let (status, output, _) = try LagmondProcess.run(chosen, files: ["a": input])
        #expect(status == 0)
        #expect(output.split(separator: "\n").count == 1)
        #expect(output.contains(#""event_id":"01a1ff4b22ee7d69964c000000000001""#))
    }

    @Test func `a missing file is reported and the other files are exported`() throws {
        let (status, output, errors) = try LagmondProcess.run(
            ["export", "--format", "otlp", "none", "a"],
            files: ["a": StallLines.line(1)]
        )
        #expect(status == 66)
        #expect(errors.contains("none"))
        #expect(output.split(separator: "\n").count == 1)
    }

    /// Where two lines begin to differ; nil if they are equal.
    private static func difference(_ found: [UInt8], _ expected: [UInt8]) -> String? {
        guard found != expected else { return nil }
        let same = zip(found, expected).prefix { $0 == $1 }.count
        func part(_ line: [UInt8]) -> String {
            String(decoding: line[max(0, same - 80)..<min(line.count, same + 80)], as: UTF8.self)
        }
        return "\(part(found)) INSTEAD OF \(part(expected))"
    }

    private static func read(_ line: [UInt8]) -> ParsedLine? {
        var scanner = LineScanner()
        return line.withUnsafeBytes { bytes in
            scanner.scan(UnsafeRawBufferPointer(rebasing: bytes.dropLast())) == nil ? scanner.parsedLine() : nil
        }
    }

    private func content(_ number: Int, _ source: inout HostileRecords) -> ParsedLine.Content {
        switch number % 8 {
        case 1: return .notice(source.dropNotice())
        case 3:
            var notice = source.suppressionNotice()
            if case .suppressed(var held, let total) = notice.content {
                held.fingerprint = held.fingerprint.map { _ in "v1:0123456789abcdef" }
                notice.content = .suppressed(held, total: total)
            }
            return .notice(notice)
        case 5:
            var notice = source.recurrenceNotice()
            if case .recurring(var recurrence) = notice.content {
                recurrence.fingerprint = "v1:0123456789abcdef"
                notice.content = .recurring(recurrence)
            }
            return .notice(notice)
        default:
            var record = source.record()
            // These formats do not contain them.
            record.sampleTree = []
            for index in record.evidence.lockCycle.indices { record.evidence.lockCycle[index].threadName = "worker-\(index)" }
            for index in record.evidence.lockChain.indices { record.evidence.lockChain[index].threadName = nil }
            return .stall(record)
        }
    }

    private func line(
        _ content: ParsedLine.Content,
        _ context: ProcessContext,
        _ format: RecordFormat,
        _ limits: LineLimits = wide
    ) -> [UInt8] {
        var encoder = RecordEncoder(context: context, limits: limits, format: format)
        func copy(_ bytes: UnsafeRawBufferPointer) -> [UInt8] { [UInt8](bytes) }
        switch content {
        case .stall(let record): return encoder.encode(record, copy)
        case .notice(let notice): return encoder.encode(notice, copy)
        }
    }

    private func export(_ lines: [[UInt8]], _ format: RecordFormat) -> (text: [UInt8], tally: LineTally) {
        var output = EventOutput(format: format)
        for line in lines { line.withUnsafeBytes { output.add(UnsafeRawBufferPointer(rebasing: $0.dropLast())) } }
        return (output.text, output.tally)
    }
}

extension LineTally {
    fileprivate init(lines: UInt64) {
        self.init()
        self.lines = lines
    }
}
