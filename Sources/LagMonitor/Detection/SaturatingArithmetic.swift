/// Arithmetic of times that neither traps nor wraps around.
extension UInt64 {
    /// The sum, or `.max` where it does not fit: a time that far ahead never comes.
    func saturatingSum(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    /// The product, or `.max` where it does not fit.
    func saturatingProduct(_ other: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }

    /// The difference, or 0 where it would be negative.
    func saturatingDifference(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }

    /// The next common tick after this time; `.max` where 64 bits end. All loops with one interval share their ticks, so that
    /// a thousand loops cost one wake an interval, not a thousand.
    func nextTick(ofInterval interval: UInt64) -> UInt64 { (self - self % interval).saturatingSum(interval) }
}
