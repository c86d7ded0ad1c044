/// One step of reading supposed UTF-8 text: a scalar, or an ill-formed sequence.
struct UTF8Scalar {
    /// Bytes consumed: of the scalar, or of the maximal subpart of an ill-formed one. At least 1.
    let length: Int
    let isWellFormed: Bool

    /// Reads at `position`, which must be inside `text`. The ranges are those of table 3-7 of the Unicode standard
    /// ("Well-Formed UTF-8 Byte Sequences"); surrogates and over-long forms are ill-formed by them.
    init(in text: UnsafeBufferPointer<UInt8>, at position: Int) {
        let first = text[position]
        let continuations: Int
        var allowed: ClosedRange<UInt8> = 0x80...0xbf
        switch first {
        case 0x00...0x7f:
            (length, isWellFormed) = (1, true)
            return
        case 0xc2...0xdf: continuations = 1
        case 0xe0...0xef:
            continuations = 2
            if first == 0xe0 { allowed = 0xa0...0xbf }
            if first == 0xed { allowed = 0x80...0x9f }
        case 0xf0...0xf4:
            continuations = 3
            if first == 0xf0 { allowed = 0x90...0xbf }
            if first == 0xf4 { allowed = 0x80...0x8f }
        default:
            (length, isWellFormed) = (1, false)
            return
        }
        for index in 1...continuations {
            guard position + index < text.count, allowed.contains(text[position + index]) else {
                (length, isWellFormed) = (index, false)
                return
            }
            allowed = 0x80...0xbf
        }
        (length, isWellFormed) = (continuations + 1, true)
    }
}

/// How a scalar is written in a JSON string (RFC 8259, section 7).
///
/// In addition to JSON's requirements, control and format characters that a terminal would obey are escaped (``PlainText``):
/// lines are also read as raw text, and escaping does not change what a reader decodes.
package enum JSONEscaping {
    /// The value of a scalar of two or three bytes, if it is to be escaped. These are the blocks with the marks for the writing
    /// direction, invisible characters and C1; some harmless characters are among them.
    private static func escapedValue(
        _ scalar: UTF8Scalar,
        in text: UnsafeBufferPointer<UInt8>,
        at position: Int
    ) -> UInt16? {
        switch (scalar.length, text[position]) {
        case (2, 0xc2) where text[position + 1] < 0xa0, (2, 0xd8) where text[position + 1] == 0x9c:
            return UInt16(text[position] & 0x1f) << 6 | UInt16(text[position + 1] & 0x3f)
        case (3, 0xe2), (3, 0xef):
            let low = UInt16(text[position + 1] & 0x3f) << 6 | UInt16(text[position + 2] & 0x3f)
            let value = UInt16(text[position] & 0xf) << 12 | low
            switch value {
            case 0x200b...0x200f, 0x2028...0x202e, 0x2060...0x206f, 0xfeff, 0xfff9...0xfffb: return value
            default: return nil
            }
        default: return nil
        }
    }

    /// How many bytes ``append(_:in:at:to:)`` will write.
    static func size(of scalar: UTF8Scalar, in text: UnsafeBufferPointer<UInt8>, at position: Int) -> Int {
        guard scalar.isWellFormed else { return 3 }
        guard scalar.length == 1 else { return escapedValue(scalar, in: text, at: position) == nil ? scalar.length : 6 }
        switch text[position] {
        case 0x00: return 3
        case 0x08, 0x09, 0x0a, 0x0c, 0x0d, UInt8(ascii: "\""), UInt8(ascii: "\\"): return 2
        case 0x01...0x1f, 0x7f: return 6
        default: return 1
        }
    }

    static func append(
        _ scalar: UTF8Scalar,
        in text: UnsafeBufferPointer<UInt8>,
        at position: Int,
        to bytes: inout [UInt8]
    ) {
        let first = text[position]
        guard scalar.isWellFormed, first != 0 else {
            // U+FFFD, the replacement character.
            bytes.append(0xef)
            bytes.append(0xbf)
            bytes.append(0xbd)
            return
        }
        guard scalar.length == 1 else {
            if let value = escapedValue(scalar, in: text, at: position) { return escape(value, to: &bytes) }
            for index in 0..<scalar.length { bytes.append(text[position + index]) }
            return
        }
        switch first {
        case 0x08: escape("b", to: &bytes)
        case 0x09: escape("t", to: &bytes)
        case 0x0a: escape("n", to: &bytes)
        case 0x0c: escape("f", to: &bytes)
        case 0x0d: escape("r", to: &bytes)
        case UInt8(ascii: "\""): escape("\"", to: &bytes)
        case UInt8(ascii: "\\"): escape("\\", to: &bytes)
        case 0x01...0x1f, 0x7f: escape(UInt16(first), to: &bytes)
        default: bytes.append(first)
        }
    }

    /// Appends as much of a text as fits into `maxBytes` bytes, including escapes.
    /// - Parameter keepingEnd: cut the front and keep the end.
    @inline(never) static func append(
        utf8 text: UnsafeBufferPointer<UInt8>,
        maxBytes: Int = .max,
        keepingEnd: Bool = false,
        to bytes: inout [UInt8]
    ) {
        var position = 0
        if keepingEnd, maxBytes != .max { position = startOfEnd(of: text, within: maxBytes) }
        var room = max(0, maxBytes)
        while position < text.count {
            let scalar = UTF8Scalar(in: text, at: position)
            let size = size(of: scalar, in: text, at: position)
            guard size <= room else { break }
            append(scalar, in: text, at: position, to: &bytes)
            position += scalar.length
            room -= size
        }
    }

    @inline(never)
    package static func append(_ text: String, maxBytes: Int = .max, keepingEnd: Bool = false, to bytes: inout [UInt8]) {
        var text = text
        text.withUTF8 { append(utf8: $0, maxBytes: maxBytes, keepingEnd: keepingEnd, to: &bytes) }
    }

    private static func escape(_ letter: Unicode.Scalar, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "\\"))
        bytes.append(UInt8(ascii: letter))
    }

    private static func escape(_ value: UInt16, to bytes: inout [UInt8]) {
        escape("u", to: &bytes)
        for shift in [12, 8, 4, 0] { bytes.append(Hexadecimal.digit(UInt8(truncatingIfNeeded: value >> shift) & 0xf)) }
    }

    /// The start of the longest end of `text` that needs at most `maxBytes` bytes.
    static func startOfEnd(of text: UnsafeBufferPointer<UInt8>, within maxBytes: Int) -> Int {
        var total = 0
        var position = 0
        while position < text.count {
            let scalar = UTF8Scalar(in: text, at: position)
            total += size(of: scalar, in: text, at: position)
            position += scalar.length
        }
        // Drop scalars from the front until the rest fits.
        position = 0
        while total > max(0, maxBytes), position < text.count {
            let scalar = UTF8Scalar(in: text, at: position)
            total -= size(of: scalar, in: text, at: position)
            position += scalar.length
        }
        return position
    }
}
