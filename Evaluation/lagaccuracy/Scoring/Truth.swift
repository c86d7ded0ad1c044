/// What really happened to the loop, once. Nanoseconds.
struct Truth: Sendable, Equatable {
    let stallType: StallType
    /// `cpu in timer`; what was not injected is `kernel`.
    let label: String
    let isInjected: Bool
    let begin: UInt64
    let end: UInt64
    /// How long it lasted by the target's own readings, without the time in which the target was stopped. Two numbers, because
    /// the moment of a stop is known only within bounds; without stops they are the same.
    let least: UInt64
    let most: UInt64
    /// The longest duration that the loop can have seen: from its reading before the callout to the one after it. Includes a
    /// delay by the kernel between the callout's last reading and the loop's next.
    let longest: UInt64
    /// When it had lasted for its threshold.
    let due: UInt64

    /// A stall that must be found: at least one interval (50 ms) above the threshold.
    var mustBeFound: Bool { least >= stallType.thresholdNanoseconds + Self.intervalNanoseconds }
    /// A stall that may be found: at most 1 ms below the threshold. A shorter one is not a stall, and a record of it is false.
    var mayBeFound: Bool { longest + Self.toleranceNanoseconds >= stallType.thresholdNanoseconds }

    static let intervalNanoseconds: UInt64 = 50_000_000
    static let toleranceNanoseconds: UInt64 = 1_000_000
}
