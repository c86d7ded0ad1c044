/// Numbers of one to five bytes in HotSpot's tables ("UNSIGNED5", `utilities/unsigned5.hpp`): a byte of 192 or more is followed
/// by another one, with six more bits.
struct HotSpotNumbers {
    private static let maximumBytes = 5
    private static let leastOfMore: UInt8 = 192

    private let bytes: [UInt8]
    private let excluded: UInt32
    private var place = 0

    /// - Parameter excluded: the value that is subtracted from each byte: 0 or 1.
    init(_ bytes: [UInt8], excluded: UInt32) {
        self.bytes = bytes
        self.excluded = excluded
    }

    mutating func byte() -> UInt8? {
        guard place < bytes.count else { return nil }
        defer { place += 1 }
        return bytes[place]
    }

    mutating func unsigned() -> UInt32? {
        var sum: UInt32 = 0
        for index in 0..<Self.maximumBytes {
            guard let byte = byte(), byte >= excluded else { return nil }
            sum &+= (UInt32(byte) - excluded) << UInt32(6 * index)
            if byte < Self.leastOfMore { break }
        }
        return sum
    }

    /// The lowest bit is the sign.
    mutating func signed() -> Int? {
        unsigned().map { Int(Int32(bitPattern: $0 >> 1) ^ -Int32(bitPattern: $0 & 1)) }
    }
}
