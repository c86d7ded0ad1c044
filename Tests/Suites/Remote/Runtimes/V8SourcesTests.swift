internal import Testing

@testable internal import LagRemote

/// Line ends in script sources.
struct V8SourcesTests {
    /// A source that is not in a process.
    private final class Text {
        let units: [UInt16]
        let flat: V8Heap.Flat
        private let bytes: [UInt8]
        private(set) var read = 0

        init(_ text: String, isOneByte: Bool) {
            units = Array(text.utf16)
            bytes = isOneByte ? units.map { UInt8($0) } : units.flatMap { [UInt8($0 & 255), UInt8($0 >> 8)] }
            flat = V8Heap.Flat(address: 1 << 20, count: units.count, isOneByte: isOneByte)
        }

        func heap() throws -> V8Heap {
            V8Heap(layout: try V8Constants.layout()) { [self] address, count in
                let begin = Int(address) - 1 << 20
                guard begin >= 0, begin + count <= bytes.count else { return nil }
                read += count
                return Array(bytes[begin..<begin + count])
            }
        }

        /// Counts as V8 does: a carriage return, a line feed, or both together are one line end.
        func line(at position: Int) -> Int {
            units[..<position].indices.reduce(1) { line, index in
                let isSecond = units[index] == 10 && index > 0 && units[index - 1] == 13
                return [10, 13, 0x2028, 0x2029].contains(units[index]) && !isSecond ? line + 1 : line
            }
        }
    }

    @Test(arguments: [true, false]) func `the line of a position counts all kinds of line ends before it`(isOneByte: Bool) throws
    {
        let other = isOneByte ? "é" : "\u{2028}…\u{2029}"
        let text = Text(String(repeating: "a\r\n\rb\n\nc\(other)\r\r\n", count: 20), isOneByte: isOneByte)
        let (sources, heap) = (V8Sources(), try text.heap())
        for position in text.units.indices.reversed() {
            #expect(sources.line(at: position, of: 1, in: text.flat, heap) == text.line(at: position))
        }
        #expect(sources.line(at: text.units.count, of: 1, in: text.flat, heap) == nil)
        #expect(sources.line(at: -1, of: 1, in: text.flat, heap) == nil)
    }

    @Test func `a bundle is read once, and only up to the requested position`() throws {
        let text = Text(String(repeating: "x", count: 300_000) + "\n" + String(repeating: "y", count: 3_000_000), isOneByte: true)
        let (sources, heap) = (V8Sources(), try text.heap())
        #expect(sources.line(at: 100, of: 1, in: text.flat, heap) == 1)
        #expect(text.read < 300_000)
        for place in 0..<50 { #expect(sources.line(at: 310_000 + place * 1000, of: 1, in: text.flat, heap) == 2) }
        #expect(text.read < 700_000)
        // Another script, at the same position.
        #expect(sources.line(at: 100, of: 2, in: text.flat, heap) == 1)
        #expect(text.read > 700_000)
    }
}
