internal import LagReader

/// Compressed lines.
final class GzipTarget: FuzzTarget {
    static let name = "gzip"

    /// `gzip -n` of `{"event":"stall"}` and a newline, once and twice; and of nothing.
    let seeds: [[UInt8]] = [once, once + once, [31, 139, 8, 0, 0, 0, 0, 0, 0, 3, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0]]
    private static let once: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 171, 86, 74, 45, 75, 205, 43, 81, 178, 82, 42, 46, 73, 204, 201, 81, 170, 229, 2, 0, 18,
        199, 107,
        141, 18, 0, 0, 0,
    ]

    private final class Memory: ByteSource {
        private var rest: ArraySlice<UInt8>
        init(_ bytes: [UInt8]) { rest = bytes[...] }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
            let count = min(buffer.count, 50, rest.count)
            buffer.copyBytes(from: rest.prefix(count))
            rest = rest.dropFirst(count)
            return count
        }
    }

    init(_ surroundings: FuzzSurroundings) {}

    func read(_ input: [UInt8]) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { buffer.deallocate() }
        let source = GzipSource(Memory(input), name: "fuzz")
        // A decompression bomb is not a find: the reader's caller decides how much it reads.
        for _ in 0..<1000 { guard let count = try? source.read(into: buffer), count > 0 else { return } }
    }
}
