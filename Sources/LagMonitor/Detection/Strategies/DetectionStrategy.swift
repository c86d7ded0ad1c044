/// One rule by which a loop is found to be stalled. Pure: no clock, no thread; memory that exists already.
///
/// A strategy is shown the loop again and again. It keeps the interval of time that is a stall or may become one, and says
/// when that begins and ends to be one. What several strategies say of one loop is put together by ``StallDetector``.
package protocol DetectionStrategy: Sendable {
    /// From what length on a interval is a stall.
    var thresholdNanoseconds: UInt64 { get }
    /// The stall, or what may become one; nil while all is well.
    var interval: StallInterval? { get }
    /// Whether ``interval`` is a stall.
    var isStalled: Bool { get }
    /// Whether there may be one soon, so that closer observation is worth its cost.
    var isSuspicious: Bool { get }
    /// A time at which an observation is wanted; nil: no special one. If it is past: at once.
    var nextPoll: UInt64? { get }
    /// Observes the loop.
    /// - Parameter ignoreBefore: nothing before that counts.
    mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> RuleEvent
    /// Nothing before `ignoreBefore` counts any more, and a stall in progress is dropped: another rule has reported it.
    mutating func begin(notBefore ignoreBefore: UInt64)
}

/// What a strategy is shown.
package struct Observation: Sendable {
    /// No scan of all loops takes longer: what an observation shows may be younger than its time by so much.
    static let longestRoundNanoseconds: UInt64 = 500_000_000

    package var reading: BeaconReading
    package var now: UInt64
    /// Whether a wait of one interval ended, on time.
    package var isTick: Bool
    package var processPause: ProcessPause?
    /// When the last ping was given to the loop; 0: it is still on its way.
    package var pingedNanoseconds: UInt64
    /// When the loop last ticked; 0: never.
    package var tickedNanoseconds: UInt64
    /// What was on top of the stack, if it was sampled.
    package var sample: SampleKey?
    /// What is known of the loop's rests; nil: what its beacon says.
    package var wakefulness: Wakefulness?

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

/// What a strategy says of an observation.
package enum RuleEvent: Sendable, Equatable {
    case nothing
    /// The first sign of a stall: prepare for a capture.
    case suspected
    /// The strategy's interval is a stall from now on.
    case stalled
    /// The stall is over.
    case ended(StallInterval)
}
