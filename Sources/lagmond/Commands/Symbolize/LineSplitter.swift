/// Splits a stream of bytes into lines, with bounded memory.
struct LineSplitter {
    enum Piece: Equatable {
        /// Including its newline, if it had one.
        case line([UInt8])
        /// Part of a line that is longer than any record; it is passed on in pieces.
        case fragment([UInt8])
    }

    /// Longer than any record: `max_line_bytes` ends at a megabyte.
    static let maximumLineBytes = 16 << 20

    private let maximumBytes: Int
    private var rest: [UInt8] = []
    private var isWithinLongLine = false

    init(maximumBytes: Int = LineSplitter.maximumLineBytes) { self.maximumBytes = maximumBytes }

    /// The pieces that are complete after `bytes` arrived.
    mutating func take(_ bytes: ArraySlice<UInt8>) -> [Piece] {
        var pieces: [Piece] = []
        var bytes = bytes
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            pieces.append(piece(rest + bytes[...end]))
            isWithinLongLine = false
            rest = []
            bytes = bytes[(end + 1)...]
        }
        rest += bytes
        if rest.count > maximumBytes {
            isWithinLongLine = true
            pieces.append(.fragment(rest))
            rest = []
        }
        return pieces
    }

    /// The remainder at the end of the stream.
    mutating func finish() -> Piece? {
        guard !rest.isEmpty else { return nil }
        defer { rest = [] }
        return piece(rest)
    }

    private func piece(_ bytes: [UInt8]) -> Piece {
        isWithinLongLine || bytes.count > maximumBytes ? .fragment(bytes) : .line(bytes)
    }
}
