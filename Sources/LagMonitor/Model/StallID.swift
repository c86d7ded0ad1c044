/// The identity of one stall: a UUID of version 7 (RFC 9562, section 5.7).
///
/// All lines of a stall have the same id. Ids of different milliseconds sort in the order of their stalls, as numbers and as
/// text. Any thread; no allocation except for ``description``.
public struct StallID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// The first eight bytes: 48 bits of milliseconds since 1970, the version, 12 random bits.
    public let high: UInt64
    /// The last eight bytes: the variant, 62 random bits.
    public let low: UInt64

    /// An id from the stall's start and 74 random bits.
    /// - Parameters:
    ///   - startRealtimeNanoseconds: wall clock since 1970; a time before 1970 counts as 1970.
    ///   - randomHigh: its low 12 bits are used.
    ///   - randomLow: its low 62 bits are used.
    package init(startRealtimeNanoseconds: Int64, randomHigh: UInt64, randomLow: UInt64) {
        let milliseconds = UInt64(max(0, startRealtimeNanoseconds)) / 1_000_000
        high = milliseconds << 16 | 0x7000 | (randomHigh & 0x0fff)
        low = 0x8000_0000_0000_0000 | (randomLow & 0x3fff_ffff_ffff_ffff)
    }

    /// An id from the two halves of another id.
    package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    /// An id from the stall's start, its random bits from `generator`.
    package init(startRealtimeNanoseconds: Int64, using generator: inout some RandomNumberGenerator) {
        self.init(
            startRealtimeNanoseconds: startRealtimeNanoseconds,
            randomHigh: generator.next(),
            randomLow: generator.next()
        )
    }

    /// Reads the text form, either case; nil if it is not a UUID of version 7 in 8-4-4-4-12 form.
    public init?(_ text: String) {
        var halves: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var position = 0
        for byte in text.utf8 {
            if position == 8 || position == 13 || position == 18 || position == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
            } else {
                guard digits < 32, let value = Hexadecimal.value(byte).map(UInt64.init) else { return nil }
                if digits < 16 { halves.0 = halves.0 << 4 | value } else { halves.1 = halves.1 << 4 | value }
                digits += 1
            }
            position += 1
        }
        guard position == 36, halves.0 & 0xf000 == 0x7000, halves.1 >> 62 == 0b10 else { return nil }
        (high, low) = halves
    }

    /// Milliseconds since 1970 at the stall's start.
    public var milliseconds: UInt64 { high >> 16 }

    /// Lower-case text in 8-4-4-4-12 form.
    public var description: String {
        var text = ""
        text.reserveCapacity(36)
        forEachCharacter { text.unicodeScalars.append(Unicode.Scalar($0)) }
        return text
    }

    public static func < (left: StallID, right: StallID) -> Bool { (left.high, left.low) < (right.high, right.low) }

    /// The 36 characters of the text form, in order, without allocating.
    package func forEachCharacter(_ body: (UInt8) -> Void) {
        for digit in 0..<32 {
            if digit == 8 || digit == 12 || digit == 16 || digit == 20 { body(UInt8(ascii: "-")) }
            let half = digit < 16 ? high : low
            let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (digit % 16))) & 0xf
            body(Hexadecimal.digit(value))
        }
    }
}
