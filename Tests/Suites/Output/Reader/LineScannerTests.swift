import LagModel
import Testing

@testable import LagReader

struct LineScannerTests {
    @Test func `the field table has the order of the fields`() {
        #expect(FieldTable.all.map(\.field) == StallField.allCases)
        #expect(Set(StallField.allCases.map(\.name)).count == FieldTable.all.count)
    }

    @Test func `exactly the known field names are found`() {
        let names = FieldNames()
        func field(_ name: String) -> StallField? { Array(name.utf8).withUnsafeBufferPointer { names.field(named: $0) } }
        for known in StallField.allCases {
            #expect(field(known.name) == known)
            #expect(field(known.name + "x") == nil)
            let shorter = String(known.name.dropLast())
            #expect(field(shorter) == StallField.allCases.first { $0.name == shorter })
        }
        #expect(field("") == nil)
    }

    @Test func `the fields of a real line are found`() {
        Samples.scan(Samples.end) { scanner, failure in
            #expect(failure == nil)
            #expect(scanner.kind() == .end)
            #expect(scanner.text(.fingerprint) == "v1:6648237ade8e460d")
            #expect(scanner.nanoseconds(.duration) == 7_123_456_000)
            #expect(scanner.count(.mono) == 30_477_272_205)
            #expect(scanner.text(.id) == "01a1ff4b-22ee-7d69-964c-dc2bec6b1bf6")
            #expect(scanner.number(.culpritConfidence) == 0.9)
            #expect(scanner.span(.serviceName) == nil)
            #expect(scanner.time(.time).map { UTCTime.text($0, fractionDigits: 3) } == "2026-11-21T18:07:56.654Z")
        }
    }

    @Test func `order, spaces and escapes make no difference`() {
        let line = """
             { "host_name" : "w\\u0065b\\ud83d\\ude00" ,\t"dur\\u0061tion_ms":1.5e3, "nested":{"phase":"begin","fingerprint":"no"},
            "phase":"begin","phase":"end","cause":null,"event":"stall","fingerprint":"f","schema":"lagmonitor.stall.v1",
            "id":"i","time":"2026-11-21T18:07:56Z" } \r
            """
        Samples.scan(line) { scanner, failure in
            #expect(failure == nil)
            #expect(scanner.text(.hostName) == "web😀")
            #expect(scanner.nanoseconds(.duration) == 1_500_000_000)
            #expect(scanner.kind() == .end)
            #expect(scanner.text(.fingerprint) == "f")
            #expect(scanner.span(.cause) == nil)
        }
    }

    @Test(arguments: [
        (#"{"a":1}"#, LineKind.foreign), (#"{"schema":"lagmonitor.stall.v2","event":"stall"}"#, .foreign),
        (#"{"schema":5}"#, .foreign), (#"{"schema":"lagmonitor.stall.v1","event":"suppressed"}"#, .incomplete(.suppressed)),
        (#"{"schema":"lagmonitor.stall.v1","event":"dropped"}"#, .notice),
        (#"{"schema":"lagmonitor.stall.v1","event":"stall"}"#, .incomplete(.id)),
        (Samples.line(milliseconds: "-1.0"), .incomplete(.duration)), (Samples.line(time: "yesterday"), .incomplete(.time)),
        (Samples.line(phase: "over"), .incomplete(.phase)), (Samples.begin, .begin),
        (Samples.line(phase: "abandoned"), .abandoned),
    ])
    func `the kinds of lines are distinguished`(line: String, expected: LineKind) {
        Samples.scan(line) { scanner, _ in #expect(scanner.kind() == expected) }
    }

    @Test func `a damaged line has no fields`() {
        Samples.scan(String(Samples.end.dropLast(1))) { scanner, failure in
            #expect(failure != nil)
            #expect(scanner.text(.fingerprint) == nil)
        }
    }

    @Test func `a complete stall is parsed`() throws {
        let line =
            Samples.end.dropLast() + #","sample_tree":[{"ms":400.0,"samples":3,"frames":["main","App.f"],"children":"#
            + #"[{"ms":300.0,"samples":2,"frames":["g"]},5],"pruned_ms":50.5}]}"#
        let stall = try #require(Samples.scan(String(line)) { scanner, _ in scanner.stall() })
        #expect(stall.frames.map(\.symbol) == ["__lll_lock_wait", "App.acquire", "main"])
        #expect(stall.frames[1].function == "App.acquire(Swift.Int) -> ()")
        #expect(stall.frames[1].line == 7)
        #expect(stall.frames[0].offset == 0x8612b)
        #expect(stall.frames.map { $0.inApp == true } == [false, true, true])
        #expect(stall.sampleTree.count == 1)
        #expect(stall.sampleTree[0].frames == ["main", "App.f"])
        #expect(stall.sampleTree[0].children.map(\.nanoseconds) == [300_000_000])
        #expect(stall.sampleTree[0].prunedNanoseconds == 50_500_000)
    }

    @Test(arguments: [
        ("0", 0 as UInt64?), ("0.001", 1000), ("400.205", 400_205_000), ("1e3", 1_000_000_000), ("-1", nil), ("-0", 0),
        ("0.0000019", 1), ("999999999999.999", 999_999_999_999_999_000), ("99999999999999999999999999", .max), ("1E400", nil),
    ])
    func `milliseconds are parsed`(text: String, expected: UInt64?) {
        Array(text.utf8).withUnsafeBufferPointer { #expect(JSONNumber.nanoseconds(ofMilliseconds: $0) == expected, "\(text)") }
    }

    @Test(arguments: [
        ("2026-11-21T18:07:56.654466405Z", 1_795_284_476_654_466_405 as Int64?), ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31T23:59:59.999999999Z", -1), ("2024-02-29T12:00:00+02:00", 1_709_200_800_000_000_000),
        ("2023-02-29T12:00:00Z", nil), ("2026-13-01T00:00:00Z", nil), ("2026-11-21T18:07:56", nil),
        ("2026-11-21T18:07:56.Z", nil),
        ("0001-01-01T00:00:00Z", nil), ("9999-01-01T00:00:00Z", nil), ("2026-11-21T18:07:56.1234567891234Zx", nil),
    ])
    func `times are parsed`(text: String, expected: Int64?) {
        #expect(UTCTime.nanoseconds(text) == expected)
        if let expected, expected % 1_000_000_000 == 0, text.hasSuffix("Z") { #expect(UTCTime.text(expected) == text) }
    }
}
