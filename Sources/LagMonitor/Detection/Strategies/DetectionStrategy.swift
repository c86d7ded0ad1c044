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

/// The input of a strategy.
package struct Observation: Sendable {
    /// The maximum time of a scan of all loops: an observation's content may be this much later than its time.
    static let longestRoundNanoseconds: UInt64 = 500_000_000

    package var reading: BeaconReading
    package var now: UInt64
    /// Whether a wait of one interval ended, on time.
    package var isTick: Bool
    package var processPause: ProcessPause?
    /// When the last ping was sent to the loop; 0: it is still being sent.
    package var pingedNanoseconds: UInt64
    /// When the loop last ticked; 0: never.
    package var tickedNanoseconds: UInt64
    /// The top of the stack, if it was sampled.
    package var sample: SampleKey?
    /// What is known of the loop's idle times; nil: use its beacon.
    package var wakefulness: Wakefulness?
    /// Whether the loop may be at rest while its beacon shows work: then only an examination decides.
    package var mayBeAtRest = false

    package init(
        _ reading: BeaconReading,
        at now: UInt64,
        isTick: Bool = false,
        processPause: ProcessPause? = nil,
        pinged: UInt64 = 0,
        ticked: UInt64 = 0,
        sample: SampleKey? = nil
    ) {
        self.reading = reading
        self.now = now
        self.isTick = isTick
        self.processPause = processPause
        pingedNanoseconds = pinged
        tickedNanoseconds = ticked
        self.sample = sample
    }
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
