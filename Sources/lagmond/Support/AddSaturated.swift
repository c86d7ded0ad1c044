internal import LagModel

extension FixedWidthInteger where Self: UnsignedInteger {
    /// Adds; `.max` on overflow.
    mutating func addSaturated(_ other: Self) { self = saturatingSum(other) }
}
