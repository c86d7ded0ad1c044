/// Whole numbers and bytes as hex, lower case.
package enum Hexadecimal {
    /// Appends `0x` and the number, without leading zeros.
    package static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        bytes.append(UInt8(ascii: "0"))
        bytes.append(UInt8(ascii: "x"))
        var shift = max(0, 60 - number.leadingZeroBitCount / 4 * 4)
        while shift >= 0 {
            bytes.append(digit(UInt8(truncatingIfNeeded: number >> UInt64(shift)) & 0xf))
            shift -= 4
        }
    }

    package static func text(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 0xf))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// `0x` and the number, without leading zeros.
    package static func address(_ number: UInt64) -> String { "0x" + String(number, radix: 16) }

    /// The number after `0x`; nil for other text, and for 2^64 or more.
    package static func address(_ text: String) -> UInt64? {
        // `UInt64` accepts a sign as well.
        guard text.hasPrefix("0x"), let first = text.utf8.dropFirst(2).first, value(first) != nil else { return nil }
        return UInt64(text.dropFirst(2), radix: 16)
    }

    /// Sixteen digits.
    package static func text(_ number: UInt64) -> String {
        text((0..<8).map { (index: UInt64) -> UInt8 in UInt8(truncatingIfNeeded: number >> (56 - 8 * index)) })
    }

    /// The digit of a value below 16.
    package static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }

    /// Whether these are digits of the lower case only, that many.
    @inlinable package static func isText(_ bytes: some Sequence<UInt8>, of count: ClosedRange<Int>) -> Bool {
        var found = 0
        for byte in bytes {
            guard value(byte) != nil, !(UInt8(ascii: "A")...UInt8(ascii: "F")).contains(byte) else { return false }
            found += 1
        }
        return count.contains(found)
    }

    /// The value of a digit, either case.
    @inlinable @inline(__always) package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
