internal import LagModel

/// Parses one JSON text (RFC 8259) from left to right and reports the positions of its parts, without building or copying
/// anything.
///
/// It checks the grammar of every byte, including skipped values, so a text without a ``failure`` is JSON.
/// It does not check strings for valid UTF-8. The bytes must not move while the cursor is used. One thread.
package struct JSONCursor {
    /// Deeper texts are rejected, because the reader's stack is bounded.
    package static let maximumDepth = 128

    /// The error, and its byte offset.
    package struct Failure: Error, Equatable, Sendable, CustomStringConvertible {
        package let reason: String
        package let offset: Int

        package init(reason: String, offset: Int) {
            self.reason = reason
            self.offset = offset
        }

        package var description: String { "\(reason) at byte \(offset + 1)" }
    }

    /// A part of the text.
    package struct Span: Equatable, Sendable {
        /// From the text's start.
        package let offset: Int
        package let count: Int
        /// Whether it is a string with a backslash; the span of a string excludes the quotes.
        package let hasEscapes: Bool
        package let kind: Kind
    }

    /// The kind of a value, determined by its first byte.
    package enum Kind: UInt8, Sendable {
        case object, array, string, number, boolean, null
    }

    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    var position: UnsafePointer<UInt8>
    private var reason: StaticString?
    private var failedAt: UnsafePointer<UInt8>?
    /// For the string that was read last.
    private(set) var stringHadEscapes = false

    /// - Parameter bytes: the text. An empty one has no value.
    package init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; it is never read.
        let base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        start = base.assumingMemoryBound(to: UInt8.self)
        end = start + bytes.count
        position = start
    }

    /// The error that stopped it; nil while there is none.
    package var failure: Failure? {
        guard let reason else { return nil }
        return Failure(reason: "\(reason)", offset: (failedAt ?? position) - start)
    }

    /// The number of bytes before the current position.
    package var offset: Int { position - start }

    @inline(__always) var isAtEnd: Bool { position == end }

    /// The current byte; at the end 0, which the grammar never allows.
    @inline(__always) package var byte: UInt8 { position < end ? position.pointee : 0 }

    @inline(never) mutating func fail(_ why: StaticString) -> Bool {
        if reason == nil {
            reason = why
            failedAt = position
        }
        return false
    }

    @inline(__always) package mutating func skipSpaces() {
        while position < end, position.pointee <= 0x20 {
            let byte = position.pointee
            guard byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            position += 1
        }
    }

    @inline(__always) mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard position < end, position.pointee == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    /// Steps over a string, and returns its bytes without the quotes; nil after a failure.
    @inline(__always) mutating func string() -> UnsafeBufferPointer<UInt8>? {
        guard skip("\"") else {
            _ = fail("expected a string")
            return nil
        }
        let first = position
        stringHadEscapes = false
        while true {
            skipPlain()
            guard position < end else {
                _ = fail("unterminated string")
                return nil
            }
            if position.pointee == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(start: first, count: position - first)
                position += 1
                return text
            }
            guard escape() else { return nil }
        }
    }

    @inline(__always) private static var quotes: SIMD16<UInt8> { SIMD16(repeating: 0x22) }
    @inline(__always) private static var backslashes: SIMD16<UInt8> { SIMD16(repeating: 0x5c) }
    @inline(__always) private static var spaces: SIMD16<UInt8> { SIMD16(repeating: 0x20) }

    /// Skips to the next quote, backslash or control character.
    @inline(__always) private mutating func skipPlain() {
        while end - position >= 16 {
            let block = UnsafeRawPointer(position).loadUnaligned(as: SIMD16<UInt8>.self)
            // Both operands are vectors, because the operators with a scalar process the lanes one by one.
            let isSpecial = (block .== Self.quotes) .| (block .== Self.backslashes) .| (block .< Self.spaces)
            // A lane of a mask is all ones or all zeros, so the first set lane is the first non-zero byte.
            let lanes = unsafeBitCast(isSpecial, to: SIMD2<UInt64>.self)
            if lanes[0] != 0 {
                position += UInt64(littleEndian: lanes[0]).trailingZeroBitCount >> 3
                return
            }
            if lanes[1] != 0 {
                position += 8 + UInt64(littleEndian: lanes[1]).trailingZeroBitCount >> 3
                return
            }
            position += 16
        }
        while position < end {
            let byte = position.pointee
            if byte == 0x22 || byte == 0x5c || byte < 0x20 { return }
            position += 1
        }
    }

    @inline(never) private mutating func escape() -> Bool {
        guard position.pointee == UInt8(ascii: "\\") else { return fail("a control character in a string") }
        stringHadEscapes = true
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"), UInt8(ascii: "n"),
            UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 1
            return true
        case UInt8(ascii: "u"):
            position += 1
            for _ in 0..<4 {
                guard position < end, Hexadecimal.value(position.pointee) != nil else { return fail("expected four hex digits") }
                position += 1
            }
            return true
        default: return fail("an unknown escape")
        }
    }
}
