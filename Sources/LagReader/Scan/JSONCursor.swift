internal import LagModel

/// Goes through one JSON text (RFC 8259) from left to right and says where its parts are; nothing is built or copied.
///
/// Every byte of the grammar is checked, values that are stepped over included, so what ends without a ``failure`` is a JSON text.
/// Whether strings are UTF-8 is not checked. The bytes must stay where they are as long as the cursor is used. One thread.
package struct JSONCursor {
    /// Deeper texts are refused: the stack of the one who reads is bounded.
    package static let maximumDepth = 128

    /// What is wrong, and after how many bytes.
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
        /// Whether it is a string that holds a backslash; of strings the span is without the quotes.
        package let hasEscapes: Bool
        package let kind: Kind
    }

    /// What a value is, by its first byte.
    package enum Kind: UInt8, Sendable {
        case object, array, string, number, boolean, null
    }

    let start: UnsafePointer<UInt8>
    let end: UnsafePointer<UInt8>
    var position: UnsafePointer<UInt8>
    private var reason: StaticString?
    private var failedAt: UnsafePointer<UInt8>?
    /// Of the string that was read last.
    private(set) var stringHadEscapes = false

    /// - Parameter bytes: the text. An empty one has no value.
    package init(_ bytes: UnsafeRawBufferPointer) {
        // An empty buffer may have no address; then nothing is read.
        let base = bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1)!
        start = base.assumingMemoryBound(to: UInt8.self)
        end = start + bytes.count
        position = start
    }

    /// What stopped it; nil while all is well.
    package var failure: Failure? {
        guard let reason else { return nil }
        return Failure(reason: "\(reason)", offset: (failedAt ?? position) - start)
    }

    /// Bytes before this place.
    package var offset: Int { position - start }

    @inline(__always) var isAtEnd: Bool { position == end }

    /// The byte here; 0, which nothing allows, at the end.
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

    /// Steps over a string, and returns where it is, without its quotes; nil after a failure.
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

    /// To the next quote, backslash or control character.
    @inline(__always) private mutating func skipPlain() {
        while end - position >= 16 {
            let block = UnsafeRawPointer(position).loadUnaligned(as: SIMD16<UInt8>.self)
            // Vectors on both sides: the forms that take a scalar go through the lanes one by one.
            let isSpecial = (block .== Self.quotes) .| (block .== Self.backslashes) .| (block .< Self.spaces)
            // A lane of a mask is all ones or all zeros, so the first lane that is set is the first byte that is not zero.
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
