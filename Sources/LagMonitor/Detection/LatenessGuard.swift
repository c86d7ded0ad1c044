/// Tells whether a wait of the watchdog ended when it should have.
///
/// A watchdog that wakes late (the process was stopped, the machine suspended or starved) knows nothing about what the
/// loop could have done meanwhile: such a wait is no timeout.
package struct LatenessGuard: Sendable {
    /// Later than this is late.
    package let toleranceNanoseconds: UInt64
    /// How often it was late.
    package private(set) var lateCount: UInt64 = 0

    package init(toleranceNanoseconds: UInt64) { self.toleranceNanoseconds = toleranceNanoseconds }

    /// - Parameter expected: when the wait was to end; `.max` for a wait without end, which cannot be late.
    package mutating func isOnTime(expected: UInt64, now: UInt64) -> Bool {
        if Self.isWithin(toleranceNanoseconds, expected, now) { return true }
        lateCount += 1
        return false
    }

    /// The same without counting: for further loops of the same look.
    package static func isWithin(_ tolerance: UInt64, _ expected: UInt64, _ now: UInt64) -> Bool {
        expected == .max || now <= expected || now - expected <= tolerance
    }
}
