/// A true stall or delay of the loop. Nanoseconds.
struct Truth: Sendable, Equatable {
    let stallType: StallType
    /// Such as `cpu in timer`; `kernel` if it was not injected.
    let label: String
    let isInjected: Bool
    let begin: UInt64
    let end: UInt64
    /// Its duration by the target's own readings, without the time in which the target was stopped. Two numbers, because
    /// the time of a stop is known only within bounds; without stops they are equal.
    let least: UInt64
    let most: UInt64
    /// The longest duration that the loop can have seen: from its reading before the callout to its reading after the callout.
    /// Includes a delay by the kernel between the callout's last reading and the loop's next one.
    let longest: UInt64
    /// The time when it reached its threshold.
    let due: UInt64

    /// A stall that must be found: at least one interval (50 ms) above the threshold.
    var mustBeFound: Bool { least >= stallType.thresholdNanoseconds + Self.intervalNanoseconds }
    /// A stall that may be found: at most 1 ms below the threshold. A shorter one is not a stall, and a record of it is false.
    var mayBeFound: Bool { longest + Self.toleranceNanoseconds >= stallType.thresholdNanoseconds }

    static let intervalNanoseconds: UInt64 = 50_000_000
    static let toleranceNanoseconds: UInt64 = 1_000_000
}
