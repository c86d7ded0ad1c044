/// Arithmetic of times and counts that neither traps nor wraps around.
extension FixedWidthInteger where Self: UnsignedInteger {
    /// The sum, or `.max` if it does not fit: a time that far ahead never comes.
    @inlinable package func saturatingSum(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    /// Adds; `.max` if the sum does not fit.
    @inlinable package mutating func addSaturated(_ other: Self) { self = saturatingSum(other) }

    /// The product, or `.max` if it does not fit.
    @inlinable package func saturatingProduct(_ other: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }

    /// The difference, or 0 if it would be negative.
    @inlinable package func saturatingDifference(_ other: Self) -> Self { self > other ? self - other : 0 }
}

extension UInt64 {
    /// The next common tick after this time; `.max` at the end of 64 bits. All loops with one interval share their ticks, so a
    /// thousand loops cost one wake per interval, not a thousand.
    @inlinable package func nextTick(ofInterval interval: UInt64) -> UInt64 { (self - self % interval).saturatingSum(interval) }
}
