import LagModel
import LagReader
import Testing

/// A member that is declared once is written, read and documented everywhere.
struct FrameMemberTests {
    private static let frame = StallRecord.Frame(
        pc: 0x7f00_0000_1234,
        module: "/opt/shop/bin/shop",
        buildID: "0123456789abcdef",
        offset: 0x1234,
        symbol: "Shop.run",
        function: "Shop.run() async -> ()",
        symbolOffset: 12,
        file: "/src/Shop.swift",
        line: 42,
        language: "python",
        inlined: false,
        inApp: true,
        isAsync: true,
        skipped: 7,
        tailCall: true
    )

    private var names: [String] { FrameMember.all.map { "\($0.name)" } }

    @Test func `every property of a frame is in the member table`() {
        // Seven properties are in no line: where a function without a name begins, what distinguishes it from others of its name,
        // whether it belongs to a runtime or may belong to a library, whether it only passes a call on, and how it was called.
        #expect(Mirror(reflecting: Self.frame).children.count == FrameMember.all.count + 7)
        #expect(FrameMember.all.allSatisfy { $0.value(Self.frame) != nil }, "a property above is not set")
    }

    @Test func `a frame is read back equal, with its members in order`() throws {
        var record = Sample.record(frames: 0)
        record.frames = [Self.frame]
        let text = try Sample.line(record)
        Samples.scan(text) { scanner, failure in #expect(failure == nil && scanner.stall()?.frames == [Self.frame]) }
        let places = try names.map { try #require(text.ranges(of: "\"\($0)\":").last, "\($0)").lowerBound }
        #expect(places == places.sorted())
    }

    @Test func `check and schema contain every frame member`() {
        #expect(NestedField.frame.map { "\($0.name)" } == names)
        #expect(NestedField.frame.filter(\.isRequired).map { "\($0.name)" } == ["pc"])
    }
}
