public import Foundation

/// A program's output, line by line. One thread.
public final class LineReader {
    private let handle: FileHandle
    private var pending = Data()

    public init(_ pipe: Pipe) { handle = pipe.fileHandleForReading }

    /// Waits for the next line; nil at the end of the output. Text after the last newline is not a line.
    public func next() -> String? {
        while true {
            if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                defer { pending = Data(pending[pending.index(after: end)...]) }
                return String(decoding: pending[..<end], as: UTF8.self)
            }
            let piece = handle.availableData
            if piece.isEmpty { return nil }
            pending += piece
        }
    }

    /// All unread output, up to its end.
    public func rest() throws -> Data {
        defer { pending = Data() }
        return pending + (try handle.readToEnd() ?? Data())
    }
}
