internal import Foundation
internal import LagModel
internal import LagMonitor
internal import LagMonitorDelivery
internal import LagOutput
internal import TestSupport
internal import Testing

@testable internal import lagmond

/// No output for people contains control characters, whatever names a watched program gives its threads, functions and files.
struct PlainOutputTests {
    /// Characters that control a terminal or change the order of displayed text, and harmless ones.
    private static let parts = [
        "\u{1b}[2J", "\u{1b}]0;title\u{7}", "\n", "\r", "\u{8}", "\u{9b}31m", "\u{9d}0;x\u{9c}", "\u{85}", "\u{7f}", "\u{202e}",
        "\u{2066}", "\u{200f}",
        "\u{61c}", "\u{2028}", "\u{2029}", "\u{feff}", "\u{200b}", "\t", "name", "ä", "日本", "a::b<c>", "#1", "%s", "'", "\"",
        "\\",
    ]

    private static func name(_ generator: inout SeededGenerator) -> String {
        (0..<Int.random(in: 1...6, using: &generator)).map { _ in parts.randomElement(using: &generator)! }.joined()
    }

    /// Does not use the function under test.
    private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0a: false
        case 0..<0x20, 0x7f...0x9f, 0x61c, 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff: true
        default: false
        }
    }

    private static func dangerous(in text: String, allowing allowed: [Unicode.Scalar] = []) -> [String] {
        text.unicodeScalars.filter { isDangerous($0) && !allowed.contains($0) }.map { "U+" + String($0.value, radix: 16) }
    }

    private static let structure: Set<String> = [
        "schema", "time", "id", "event", "phase", "severity", "kind", "fingerprint", "stack_hash", "boot_id", "cause", "capture",
        "pc", "offset",
    ]

    /// The line with hostile names and the same structure.
    private static func hostile(_ line: String, _ generator: inout SeededGenerator) throws -> String {
        func changed(_ value: Any, _ key: String) -> Any {
            switch value {
            case let object as [String: Any]:
                var copy: [String: Any] = [:]
                for key in object.keys.sorted() { copy[key] = changed(object[key]!, key) }
                return copy
            case let list as [Any]: return list.map { changed($0, key) }
            case is String where !structure.contains(key): return name(&generator)
            default: return value
            }
        }
        let object = changed(try JSONSerialization.jsonObject(with: Data(line.utf8)), "")
        let text = String(decoding: try JSONSerialization.data(withJSONObject: object, options: .sortedKeys), as: UTF8.self)
        // Foundation omits fractions that are zero.
        return text.replacing(#""duration_ms":400,"#, with: #""duration_ms":400.000,"#)
            .replacing(#""threshold_ms":150,"#, with: #""threshold_ms":150.000,"#) + "\n"
    }

    private static let more =
        StallLines.tree
        + #","syscall":"read","syscall_target":"a","wchan":"w","lock_kind":"mutex","lock_owner":{"thread_id":7,"thread_name":"t","frames":[{"pc":"0x1","symbol":"f","file":"g","line":3}]}"#

    private static func lines(seed: UInt64) throws -> String {
        var generator = SeededGenerator(seed: seed)
        return try (1...20).map { try hostile(StallLines.line($0, more: more), &generator) }.joined()
    }

    @Test(arguments: [
        ["symbolize", "--text", "a"], ["top", "a"], ["top", "--by", "culprit", "a"], ["top", "--by", "host", "a"],
        ["top", "--by", "loop", "a"],
        ["export", "--format", "folded", "a"], ["export", "--format", "perf", "a"], ["check", "a"], ["report", "a", "-o", "-"],
        ["top", "--json", "a"],
    ])
    func `names in lines put no control characters into the output`(command: [String]) throws {
        for seed: UInt64 in 1...3 {
            let lines = try Self.lines(seed: seed)
            let damaged = lines.replacing("\"pid\"", with: "\"pid\\u001b[2J\"")
            let (_, output, errors) = try LagmondProcess.run(command, files: ["a": lines + damaged])
            #expect(output.count > 100, "\(errors)")
            // The perf script format itself uses tabs.
            let own: [Unicode.Scalar] = command.contains("perf") ? ["\t"] : []
            #expect(Self.dangerous(in: output, allowing: own) == [], "seed \(seed)")
            #expect(Self.dangerous(in: errors) == [], "seed \(seed)")
        }
    }

    @Test func `input that is not a record puts no control characters on a terminal`() throws {
        let input = "\u{1b}]0;x\u{7}\n{\"a\":\"\u{9b}2J\"}\n{\"a\u{202e}\":\nplain\n"
        let (_, text, _) = try LagmondProcess.run(["symbolize", "--text", "a"], files: ["a": input])
        #expect(Self.dangerous(in: text) == [] && text.split(separator: "\n").count == 4 && text.hasSuffix("plain\n"), "\(text)")
        // The output without --text is unchanged.
        let (_, piped, _) = try LagmondProcess.run(["symbolize", "a"], files: ["a": input])
        #expect(piped == input)
    }

    @Test func `a name in a record never starts a new line`() throws {
        let plain = StallLines.line(1, more: Self.more)
        let expected = try LagmondProcess.run(["symbolize", "--text", "a"], files: ["a": plain]).output.split(separator: "\n")
            .count
        for seed: UInt64 in 1...20 {
            var generator = SeededGenerator(seed: seed)
            let line = try Self.hostile(plain, &generator)
            let output = StallText(try #require(StallLine(try JSONText(Array(line.utf8))))).paragraph
            #expect(output.split(separator: "\n").count == expected, "\(output)")
        }
    }

    @Test func `names on the command line put no control characters into messages`() throws {
        let name = "a\u{1b}]0;x\u{7}\u{202e}b"
        let commands = [["top"], ["check"], ["symbolize"], ["report"], ["run", "--config"], ["run", "--"]]
        for command in commands.map({ $0 + [name] }) {
            let (_, output, errors) = try LagmondProcess.run(command)
            #expect(!errors.isEmpty && Self.dangerous(in: output + errors) == [], "\(command): \(errors)")
        }
    }

    @Test func `names put no control characters into metric labels and stay distinct`() {
        var generator = SeededGenerator(seed: 7)
        let places = (0..<50).map { _ in
            StallCounts.LoopKey(target: Self.name(&generator), process: Self.name(&generator), loop: Self.name(&generator))
        }
        let counts = StallCounts(places: places)
        let page = MetricsPage(counts: counts.snapshot, lags: Dictionary(places.map { ($0, 1) }) { $1 }, dropped: 0).text
        #expect(Self.dangerous(in: page) == [])
        // Two names that look the same would give a duplicate series, which a scraper refuses.
        let samples = page.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.prefix(through: $0.lastIndex(of: "}")!) }
        #expect(Set(samples).count == samples.count)
    }

    @Test func `encoded lines and messages contain no control characters`() throws {
        var generator = SeededGenerator(seed: 8)
        for _ in 0..<200 {
            var record = StallRecord(
                id: StallID(startRealtimeNanoseconds: 1, randomHigh: 5, randomLow: 7),
                startRealtimeNanoseconds: 1,
                startMonotonicNanoseconds: 1,
                durationNanoseconds: 400_205_000,
                thresholdNanoseconds: 150_000_000,
                phase: .end,
                kind: .callout,
                loop: Self.name(&generator),
                threadID: 5
            )
            record.foundBy = [.callout]
            record.threadName = Self.name(&generator)
            record.fingerprint = "v1:6648237ade8e460d"
            record.stackHash = "9088f728ab831587"
            record.cause = .lock
            record.capture = .passive
            record.frames = [
                .init(pc: 1, module: Self.name(&generator), symbol: Self.name(&generator), file: Self.name(&generator))
            ]
            record.framesTotal = record.frames.count
            record.culprit = Self.name(&generator)
            record.evidence.lockOwner = .init(threadID: 6, threadName: Self.name(&generator), frames: [])
            #expect(Self.dangerous(in: StallMessage(record).text) == [] && !StallMessage(record).text.contains("\n"))
            for format in RecordFormat.all {
                var encoder = RecordEncoder(context: .current(), format: format)
                let line = encoder.encode(record) { String(decoding: $0, as: UTF8.self) }
                #expect(Self.dangerous(in: line) == [] && line.dropLast().contains("\n") == false, "\(line)")
                // A reader gets the original name.
                if format == .native {
                    let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                    #expect(object?["loop"] as? String == record.loop && object?["culprit"] as? String == record.culprit)
                }
            }
        }
    }
}
