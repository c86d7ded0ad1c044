/// Which rule found a stall. In this order: what comes first knows beginning and end more exactly.
package enum StallKind: UInt8, Sendable, CaseIterable, Comparable {
    /// One callout that does not come to an end: the loop's activity word stands still.
    case callout
    /// Many callouts in a row, none of them a stall: the word moves, but the loop comes to no rest.
    case starvation
    /// A ping was not answered.
    case ping
    /// Ticks of a fixed rate were missed.
    case frame
    /// The same functions were on top of the stack each time.
    case sample

    package static func < (left: StallKind, right: StallKind) -> Bool { left.rawValue < right.rawValue }
}

/// Some of the rules.
package struct StallKinds: OptionSet, Sendable, Equatable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ kind: StallKind) { rawValue = 1 << kind.rawValue }

    /// In their order.
    package var kinds: [StallKind] { StallKind.allCases.filter { contains(StallKinds($0)) } }
}
