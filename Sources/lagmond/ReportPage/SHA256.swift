/// SHA-256 (FIPS 180-4), for the page's own policy: its script and its style are named by their hashes, which is stricter than a nonce,
/// and the same in every page. Only for that purpose: a page has some tens of kilobytes of them.
enum SHA256 {
    private static let constants: [UInt32] = fractions(of: 64, root: 3)
    private static let start: [UInt32] = fractions(of: 8, root: 2)

    static func hash(_ message: [UInt8]) -> [UInt8] {
        var bytes = message + [0x80]
        while bytes.count % 64 != 56 { bytes.append(0) }
        let bits = UInt64(message.count) * 8
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift))) }
        var state = start
        for block in stride(from: 0, to: bytes.count, by: 64) { mix(bytes[block..<block + 64], into: &state) }
        return state.flatMap { word in [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> UInt32($0)) } }
    }

    private static func mix(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
        var words = [UInt32](repeating: 0, count: 64)
        for index in 0..<16 {
            let place = block.startIndex + index * 4
            words[index] = (0..<4).reduce(0) { $0 << 8 | UInt32(block[place + $1]) }
        }
        for index in 16..<64 {
            let (far, near) = (words[index - 15], words[index - 2])
            let first = rotated(far, 7) ^ rotated(far, 18) ^ far >> 3
            let second = rotated(near, 17) ^ rotated(near, 19) ^ near >> 10
            words[index] = words[index - 16] &+ first &+ words[index - 7] &+ second
        }
        var value = state
        for index in 0..<64 {
            let choice = value[4] & value[5] ^ ~value[4] & value[6]
            let majority = value[0] & value[1] ^ value[0] & value[2] ^ value[1] & value[2]
            let upper = rotated(value[4], 6) ^ rotated(value[4], 11) ^ rotated(value[4], 25)
            let lower = rotated(value[0], 2) ^ rotated(value[0], 13) ^ rotated(value[0], 22)
            let sum = value[7] &+ upper &+ choice &+ constants[index] &+ words[index]
            value = [sum &+ lower &+ majority, value[0], value[1], value[2], value[3] &+ sum, value[4], value[5], value[6]]
        }
        for index in 0..<8 { state[index] = state[index] &+ value[index] }
    }

    private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word >> count | word << (32 - count) }

    /// The first 32 bits of the fractional parts of the square or cube roots of the first primes: the standard's constants.
    private static func fractions(of count: Int, root: Int) -> [UInt32] {
        var primes: [UInt64] = []
        var candidate: UInt64 = 2
        while primes.count < count {
            if !primes.contains(where: { candidate % $0 == 0 }) { primes.append(candidate) }
            candidate += 1
        }
        return primes.map { prime in
            // The largest integer whose power does not exceed the scaled prime: the root with 32 fractional bits.
            let scaled = UInt128(prime) << UInt128(32 * root)
            var low: UInt128 = 0
            var high: UInt128 = 1 << 38
            while high - low > 1 {
                let middle = (low + high) / 2
                let power = root == 2 ? middle * middle : middle * middle * middle
                if power <= scaled { low = middle } else { high = middle }
            }
            return UInt32(truncatingIfNeeded: low)
        }
    }
}
