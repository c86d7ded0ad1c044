import Foundation
import Testing

@testable import LagMonitorDelivery
@testable import LagOutput

/// Requirements on every format.
struct FormatTests {
    static func line(
        _ record: StallRecord,
        _ format: RecordFormat,
        context: ProcessContext = Sample.context,
        limit: Int = LineLimits.defaultLineBytes
    ) throws -> String {
        var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit), format: format)
        return encoder.encode(record) { String(decoding: $0, as: UTF8.self) }
    }

    /// One line for each kind of notice.
    static func notices(_ format: RecordFormat, context: ProcessContext = Sample.context, limit: Int = 8000) throws -> [String] {
        var encoder = RecordEncoder(context: context, limits: try LineLimits(maxLineBytes: limit), format: format)
        let time = OutputTime(realtimeNanoseconds: Sample.start, monotonicNanoseconds: 5_000_000)
        let drop = Notice.dropped(3, .sinkFailed, total: 7, time: time)
        var held = Suppression(fingerprint: "v1:0123456789abcdef")
        held.add(Sample.record(), at: 1)
        let recurrence = Recurrence(
            fingerprint: "v1:0123456789abcdef",
            count: 3,
            windowNanoseconds: 600_000_000_000,
            firstRealtimeNanoseconds: Sample.start,
            lastRealtimeNanoseconds: Sample.start,
            totalNanoseconds: 750_000_000,
            seenTotal: 12,
            culprit: "Shop.render",
            message: "main stood still for 250 ms"
        )
        return [
            encoder.encode(drop) { String(decoding: $0, as: UTF8.self) },
            encoder.encode(Notice(.suppressed(held, total: 9), time: time)) { String(decoding: $0, as: UTF8.self) },
            encoder.encode(Notice(.recurring(recurrence), time: time)) { String(decoding: $0, as: UTF8.self) },
        ]
    }

    /// The symbols of the stalled thread's frames in a line.
    private func frames(_ line: String, _ format: RecordFormat) throws -> [String] {
        let parsed = try Sample.parse(line)
        switch format {
        case .native: return (parsed["frames"] as? [[String: Any]] ?? []).compactMap { $0["symbol"] as? String }
        case .otlp: return (try OTLPFormatTests.attributes(parsed)["code.stacktrace"] as? String).map(symbols) ?? []
        case .ecs: return ((parsed["error"] as? [String: Any])?["stack_trace"] as? String).map(symbols) ?? []
        default:
            let values = try #require((parsed["exception"] as? [String: Any])?["values"] as? [[String: Any]])
            let frames = (values[0]["stacktrace"] as? [String: Any])?["frames"] as? [[String: Any]] ?? []
            return frames.reversed().compactMap { $0["function"] as? String }
        }
    }

    private func symbols(_ stack: String) -> [String] {
        stack.split(separator: "\n").map { String($0.prefix { $0 != " " }) }
    }

    private func framesTotal(_ line: String, _ format: RecordFormat) throws -> Int? {
        let parsed = try Sample.parse(line)
        return switch format {
        case .native: parsed["frames_total"] as? Int
        case .otlp: (try OTLPFormatTests.attributes(parsed)["lagmonitor.frames_total"] as? String).flatMap { Int($0) }
        case .ecs: (parsed["lagmonitor"] as? [String: Any])?["frames_total"] as? Int
        default: ((parsed["contexts"] as? [String: Any])?["lagmonitor"] as? [String: Any])?["frames_total"] as? Int
        }
    }

    @Test(arguments: RecordFormat.all) func `every line in every format is complete and within the limit`(format: RecordFormat)
        throws
    {
        for record in [Sample.record(frames: 40), Sample.extremeRecord()] {
            for context in [Sample.context, Sample.extremeContext] {
                for limit in [1024, 1025, 1777, 4200, 8000, 65_536] {
                    let line = try Self.line(record, format, context: context, limit: limit)
                    #expect(line.utf8.count <= limit, "\(format) at \(limit)")
                    #expect(line.hasSuffix("}\n") && line.filter { $0 == "\n" }.count == 1)
                    _ = try Sample.parse(line)
                    #expect(!line.contains("\\u0000"))
                    #expect(try framesTotal(line, format) == max(40, record.framesTotal) || record.framesTotal == .max)
                }
                for limit in [1024, 1100, 1500, 8000] {
                    for line in try Self.notices(format, context: context, limit: limit) {
                        #expect(line.utf8.count <= limit && line.hasSuffix("}\n"), "\(format) at \(limit)")
                        _ = try Sample.parse(line)
                    }
                }
            }
        }
    }

    @Test(arguments: RecordFormat.all) func `frames are removed from the root and the total depth is kept`(format: RecordFormat)
        throws
    {
        let record = Sample.record(frames: 60)
        let whole = try Self.line(record, format, limit: 100_000)
        #expect(try frames(whole, format) == (0..<60).map { "Shop.Frame\($0).run" })
        #expect(try Self.line(record, format, limit: whole.utf8.count) == whole)
        var before = 60
        for limit in stride(from: whole.utf8.count - 1, through: 3000, by: -977) {
            let line = try Self.line(record, format, limit: limit)
            let kept = try frames(line, format)
            #expect(kept == (0..<kept.count).map { "Shop.Frame\($0).run" })
            #expect(!kept.isEmpty && kept.count < 60 && kept.count <= before)
            #expect(try framesTotal(line, format) == 60)
            before = kept.count
        }
    }

    /// The remaining space is smaller than one more frame.
    @Test(arguments: RecordFormat.all) func `no frame is removed without need`(format: RecordFormat) throws {
        let whole = try Self.line(Sample.record(frames: 60), format, limit: 100_000).utf8.count
        let frame = whole - (try Self.line(Sample.record(frames: 59), format, limit: 100_000).utf8.count)
        let limit = whole - 10 * frame
        #expect(try frames(Self.line(Sample.record(frames: 60), format, limit: limit), format).count == 50)
    }

    @Test(arguments: RecordFormat.all) func `notices are written in every format`(format: RecordFormat) throws {
        let lines = try Self.notices(format)
        for (line, event) in zip(lines, ["dropped", "suppressed", "recurring"]) {
            #expect(line.contains("\"\(event)\"") || line.contains("lagmonitor.\(event)"), "\(line)")
        }
        #expect(lines[0].contains("sink_failed"))
        #expect(lines[1].contains("250.000") && lines[2].contains("600.000"))
        #expect(lines[2].contains("Shop.render"))
    }

    @Test(arguments: RecordFormat.all) func `the same record is written identically again`(format: RecordFormat) throws {
        var encoder = RecordEncoder(context: Sample.context, format: format)
        let first = encoder.encode(Sample.record()) { String(decoding: $0, as: UTF8.self) }
        _ = encoder.encode(Sample.extremeRecord()) { $0.count }
        #expect(encoder.encode(Sample.record()) { String(decoding: $0, as: UTF8.self) } == first)
    }

    @Test(arguments: RecordFormat.all) func `invalid UTF-8 and NUL are replaced`(format: RecordFormat) throws {
        var record = Sample.record()
        record.frames[0].symbol = String(decoding: [0x61, 0xff, 0, 0xed, 0xa0, 0x80, 0x0a, 0x22] as [UInt8], as: UTF8.self)
        record.message = "a\0b\u{1b}c\n\"\\"
        let line = try Self.line(record, format)
        #expect(!line.utf8.contains(0) && !line.contains("\\u0000") && !line.lowercased().contains("\\ud"))
        _ = try Sample.parse(line)
        #expect(line.contains("\u{fffd}"))
    }

    @Test func `the native format is the default`() throws {
        #expect(RecordEncoder(context: Sample.context).format == .native)
        #expect(try Self.line(Sample.record(), .native) == Sample.line(Sample.record()))
    }
}
