/// A hash that is the same in every process and release: FNV-1a, 64 bits (RFC 9923, section 2).
///
/// Swift's `Hasher` has a new seed in each process, so it cannot be used for values that leave the process.
package struct StableHash: Sendable {
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    /// A different hash for each variant of the same bytes.
    package init(variant: UInt64) { value ^= variant }

    package mutating func combine(_ byte: UInt8) { combine(word: UInt64(byte)) }

    /// A whole word in one step, for tables in memory.
    package mutating func combine(word: UInt64) { value = (value ^ word) &* 0x0000_0100_0000_01b3 }

    /// The same, for several words such as addresses: the high bits of those before this one also reach the low bits. (A
    /// product's low bits depend only on low bits.)
    package mutating func combine(folding word: UInt64) {
        let high = value >> 29
        combine(word: word)
        value ^= high
    }

    package mutating func combine(_ bytes: some Sequence<UInt8>) { for byte in bytes { combine(byte) } }

    /// The text and an end mark that no name contains, so that `ab`, `c` differs from `a`, `bc`.
    package mutating func combine(_ text: String) {
        combine(text.utf8)
        combine(0)
    }

    /// Sixteen lower-case hex digits.
    package var text: String { Hexadecimal.text(value) }
}
