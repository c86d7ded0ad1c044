internal import Glibc

/// Splits bytes into lines, in a buffer of fixed size: an overlong line is reported, and not kept. One thread.
package final class LineReader {
    /// The maximum of a line: the largest limit that the writer can be set to.
    package static let maximumLineBytes = 1 << 20
    /// Small enough to fit in a processor's L2 cache.
    private static let blockBytes = 256 << 10

    package enum Piece {
        /// A line without its newline; valid during the call. Blank lines are skipped.
        case line(UnsafeRawBufferPointer)
        /// A line of more than ``maximumLineBytes``.
        case overlong
    }

    /// The number of the current piece: from 1, counted from where the reading began.
    package private(set) var lineNumber = 0
    private var isStopped = false
    /// Whether the last line had no newline, because the input ended.
    package private(set) var isUnterminated = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: maximumLineBytes + blockBytes, alignment: 64)

    package init() {}

    deinit { buffer.deallocate() }

    /// Passes on the lines that begin in a part of the input.
    /// - Parameters:
    ///   - part: a range of offsets in `source`; a line that begins before its end is read completely. If the part does not
    ///     begin at the start of the input, `source` begins one byte before it: a line begins there if that byte is a newline.
    ///   - isInside: whether the part begins within the input.
    ///   - afterRead: called after the lines of each read were passed on.
    /// - Throws: errors of `source`; the lines before were passed on.
    package func read(
        _ source: any ByteSource,
        part: Range<UInt64> = 0..<UInt64.max,
        isInside: Bool = false,
        afterRead: () -> Void = {},
        _ take: (Piece) -> Void
    ) throws(InputError) {
        var base = isInside ? part.lowerBound - 1 : part.lowerBound
        var filled = 0
        var isSkipping = isInside
        lineNumber = 0
        isUnterminated = false
        isStopped = false
        while base < part.upperBound, !isStopped {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<min(buffer.count, filled + Self.blockBytes)])
            let count = try source.read(into: room)
            if count == 0 {
                isUnterminated = true
                if filled > 0, !isSkipping { deliver(0, filled, take) }
                return
            }
            let end = filled + count
            var lineStart = 0
            var search = filled
            while search < end, let found = memchr(buffer.baseAddress! + search, 0x0a, end - search) {
                let newline = found - UnsafeMutableRawPointer(buffer.baseAddress!)
                if isSkipping {
                    isSkipping = false
                } else {
                    guard base + UInt64(lineStart) < part.upperBound else { return }
                    deliver(lineStart, newline, take)
                    if isStopped { return }
                }
                lineStart = newline + 1
                search = lineStart
            }
            let rest = end - lineStart
            if !isSkipping, rest > Self.maximumLineBytes {
                guard base + UInt64(lineStart) < part.upperBound else { return }
                deliver(lineStart, end, take)
                isSkipping = true
            }
            if isSkipping {
                base += UInt64(end)
                filled = 0
            } else {
                if lineStart > 0, rest > 0 { memmove(buffer.baseAddress!, buffer.baseAddress! + lineStart, rest) }
                base += UInt64(lineStart)
                filled = rest
            }
            afterRead()
        }
    }

    /// Ends the reading in progress; call it from a callback.
    package func stop() { isStopped = true }

    /// Whether a line has only spaces, tabs and the CR of a line end.
    static func isBlank(_ line: UnsafeRawBufferPointer) -> Bool { line.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0d } }

    private func deliver(_ start: Int, _ end: Int, _ take: (Piece) -> Void) {
        lineNumber += 1
        if end - start > Self.maximumLineBytes {
            take(.overlong)
        } else {
            let line = UnsafeRawBufferPointer(rebasing: buffer[start..<end])
            if !Self.isBlank(line) { take(.line(line)) }
        }
    }
}
