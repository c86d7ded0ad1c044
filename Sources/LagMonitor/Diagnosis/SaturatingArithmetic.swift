/// Arithmetic of times that neither traps nor wraps around.
extension UInt64 {
    func subtractingSaturated(_ other: UInt64) -> UInt64 { self > other ? self - other : 0 }
    func addingSaturated(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    func multipliedSaturated(by other: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
