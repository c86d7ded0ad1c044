/// Whole numbers as text, without a locale and without an allocation.
package enum Decimal {
    /// Appends `number`, with leading zeros up to `digits`.
    package static func append(_ number: UInt64, digits: Int = 1, to bytes: inout [UInt8]) {
        let start = bytes.count
        var rest = number
        repeat {
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10))
            rest /= 10
        } while rest > 0 || bytes.count - start < digits
        // A loop, because reversing a slice in place copies the array.
        var low = start
        var high = bytes.count - 1
        while low < high {
            bytes.swapAt(low, high)
            low += 1
            high -= 1
        }
    }
}
