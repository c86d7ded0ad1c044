/// Whole numbers as text, without a locale and without an allocation.
package enum Decimal {
    /// `number` with another digit at its end; nil if `byte` is no digit, or if the result does not fit.
    @inlinable package static func append(_ byte: UInt8, to number: UInt64) -> UInt64? {
        let digit = byte &- UInt8(ascii: "0")
        let (product, overflow) = number.multipliedReportingOverflow(by: 10)
        let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
        return digit < 10 && !overflow && !carry ? sum : nil
    }

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
