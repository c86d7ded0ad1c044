/// A fast 64-bit hash of bytes, with a random seed at each start, so that colliding lines cannot be prepared: multiply and
/// fold eight bytes at a time, after wyhash (Wang Yi, public domain). Only for tables in memory, never for a file.
package enum ByteHash {
    private static let seed = UInt64.random(in: .min ... .max)
    private static let first: UInt64 = 0xa076_1d64_78bd_642f
    private static let second: UInt64 = 0xe703_7ed1_a0b4_28db

    package static func hash(_ bytes: UnsafeBufferPointer<UInt8>, seed more: UInt64 = 0) -> UInt64 {
        fixed(bytes, seed: seed ^ more)
    }

    /// The same at each start, for estimates, which would otherwise vary.
    package static func fixed(_ bytes: UnsafeBufferPointer<UInt8>, seed: UInt64 = 0) -> UInt64 {
        var hash = seed ^ first
        var rest = UnsafeRawBufferPointer(bytes)
        while rest.count >= 8 {
            hash = fold(hash ^ rest.loadUnaligned(as: UInt64.self), second)
            rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(8))
        }
        var last = UInt64(bytes.count) << 56
        for byte in rest { last = last << 8 ^ UInt64(byte) }
        // Twice, because for few bytes a single fold leaves patterns in the high bits.
        return fold(fold(hash ^ last ^ UInt64(bytes.count), first) ^ second, second)
    }

    @inline(__always) private static func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
        let product = left.multipliedFullWidth(by: right)
        return product.high ^ product.low
    }
}
