internal import LagModel

/// Decodes JSON strings.
package enum JSONString {
    /// - Parameters:
    ///   - content: the bytes between the quotes, with already checked grammar.
    /// - Returns: the text; invalid UTF-8 and lone surrogates become U+FFFD.
    package static func text(_ content: UnsafeBufferPointer<UInt8>, hasEscapes: Bool) -> String {
        guard hasEscapes else { return String(decoding: content, as: UTF8.self) }
        return String(decoding: bytes(content), as: UTF8.self)
    }

    /// The same as bytes.
    package static func bytes(_ content: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(content.count)
        var index = 0
        while index < content.count {
            let byte = content[index]
            index += 1
            guard byte == UInt8(ascii: "\\"), index < content.count else {
                bytes.append(byte)
                continue
            }
            let escaped = content[index]
            index += 1
            switch escaped {
            case UInt8(ascii: "b"): bytes.append(0x08)
            case UInt8(ascii: "f"): bytes.append(0x0c)
            case UInt8(ascii: "n"): bytes.append(0x0a)
            case UInt8(ascii: "r"): bytes.append(0x0d)
            case UInt8(ascii: "t"): bytes.append(0x09)
            case UInt8(ascii: "u"): bytes += Array(String(scalar(in: content, after: &index)).utf8)
            default: bytes.append(escaped)
            }
        }
        return bytes
    }

    /// The scalar of `\uXXXX`, or of a surrogate pair; `index` is after the `u`, and on return after the consumed bytes.
    private static func scalar(in content: UnsafeBufferPointer<UInt8>, after index: inout Int) -> Unicode.Scalar {
        guard let first = unit(in: content, at: index) else {
            index = content.count
            return "\u{fffd}"
        }
        index += 4
        if first & 0xfc00 == 0xd800, index + 1 < content.count, content[index] == UInt8(ascii: "\\"),
            content[index + 1] == UInt8(ascii: "u"), let second = unit(in: content, at: index + 2), second & 0xfc00 == 0xdc00
        {
            index += 6
            return Unicode.Scalar(0x10000 + (first & 0x3ff) << 10 + second & 0x3ff) ?? "\u{fffd}"
        }
        return Unicode.Scalar(first) ?? "\u{fffd}"
    }

    private static func unit(in content: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt32? {
        guard index + 4 <= content.count else { return nil }
        var unit: UInt32 = 0
        for digit in content[index..<index + 4] {
            guard let value = Hexadecimal.value(digit) else { return nil }
            unit = unit << 4 | UInt32(value)
        }
        return unit
    }
}
