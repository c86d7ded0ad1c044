package import LagModel

/// The rule that found a stall.
package typealias StallKind = StallRecord.Kind

/// A set of rules.
package struct StallKinds: OptionSet, Sendable, Equatable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ kind: StallKind) { rawValue = 1 << kind.rank }

    /// In their order.
    package var kinds: [StallKind] { StallKind.allCases.filter { contains(StallKinds($0)) } }
}
