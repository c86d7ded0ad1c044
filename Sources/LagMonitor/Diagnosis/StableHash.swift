/// A hash that is the same in every process and release: FNV-1a, 64 bits (RFC 9923, section 2).
///
/// Swift's `Hasher` is seeded anew in each process and cannot be used for what leaves it.
struct StableHash {
    private static let offsetBasis: UInt64 = 0xcbf2_9ce4_8422_2325
    private static let prime: UInt64 = 0x0000_0100_0000_01b3

    private(set) var value = offsetBasis

    mutating func combine(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* Self.prime }

    /// The text and an end mark that occurs in no name, so that `ab`, `c` differs from `a`, `bc`.
    mutating func combine(_ text: String) {
        for byte in text.utf8 { combine(byte) }
        combine(0)
    }

    /// Sixteen lower-case hex digits.
    var text: String { Hex.text(value) }
}
