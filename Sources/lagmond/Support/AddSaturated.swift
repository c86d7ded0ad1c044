internal import LagModel

extension FixedWidthInteger where Self: UnsignedInteger {
    /// Adds; `.max` where it does not fit.
    mutating func addSaturated(_ other: Self) { self = saturatingSum(other) }
}
