/// One rule that decides whether a loop is stalled. Pure: no clock, no thread, no allocation.
///
/// A strategy observes the loop repeatedly. It keeps the interval that is a stall or may become one, and reports when it becomes
/// one and when it ends. ``StallDetector`` combines the results of several strategies.
package protocol DetectionStrategy: Sendable {
    /// The length from which an interval is a stall.
    var thresholdNanoseconds: UInt64 { get }
    /// The stall, or what may become one; nil if there is neither.
    var interval: StallInterval? { get }
    /// Whether ``interval`` is a stall.
    var isStalled: Bool { get }
    /// Whether there may be one soon, so that closer observation is worth its cost.
    var isSuspicious: Bool { get }
    /// A time for which an observation is requested; nil: no particular time. If it is past: at once.
    var nextPoll: UInt64? { get }
    /// Observes the loop.
    /// - Parameter ignoreBefore: nothing before it counts.
    mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent
    /// Nothing before `ignoreBefore` counts any more, and a stall in progress is dropped: another rule has reported it.
    mutating func begin(notBefore ignoreBefore: UInt64)
}

/// A strategy's result for an observation.
package enum RuleEvent: Sendable, Equatable {
    case nothing
    /// The first sign of a stall: prepare for a capture.
    case suspected
    /// The strategy's interval is a stall from now on.
    case stalled
    /// The stall is over.
    case ended(StallInterval)
}
