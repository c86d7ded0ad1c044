internal import LagModel

/// The values of JSON numbers with already checked grammar.
package enum JSONNumber {
    private static let nanosecondsPerMillisecond: UInt64 = 1_000_000

    /// Converts milliseconds to nanoseconds, rounded down; `UInt64.max` on overflow, nil for a negative number.
    package static func nanoseconds(ofMilliseconds text: UnsafeBufferPointer<UInt8>) -> UInt64? {
        var whole: UInt64 = 0
        var fraction: UInt64 = 0
        var unit = nanosecondsPerMillisecond
        var isFraction = false
        for byte in text {
            let digit = UInt64(byte &- UInt8(ascii: "0"))
            if digit < 10 {
                if isFraction {
                    unit /= 10
                    fraction += digit * unit
                } else {
                    // Larger values would overflow the product below.
                    guard whole < 1_000_000_000_000 else { return slowNanoseconds(text) }
                    whole = whole &* 10 &+ digit
                }
            } else if byte == UInt8(ascii: "."), !isFraction {
                isFraction = true
            } else {
                return slowNanoseconds(text)
            }
        }
        return whole &* nanosecondsPerMillisecond &+ fraction
    }

    /// For numbers with an exponent, a sign, or many digits.
    private static func slowNanoseconds(_ text: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard let number = double(text), number >= 0 else { return nil }
        return UInt64(exactly: (number * Double(nanosecondsPerMillisecond)).rounded(.down)) ?? .max
    }

    /// A whole number without fraction and exponent; nil for any other, and for 2^64 or more.
    package static func count(_ text: UnsafeBufferPointer<UInt8>) -> UInt64? {
        guard !text.isEmpty else { return nil }
        var number: UInt64 = 0
        for byte in text {
            guard let longer = Decimal.append(byte, to: number) else { return nil }
            number = longer
        }
        return number
    }

    /// Nil if it is not finite.
    package static func double(_ text: UnsafeBufferPointer<UInt8>) -> Double? {
        guard let number = Double(String(decoding: text, as: UTF8.self)), number.isFinite else { return nil }
        return number
    }
}
