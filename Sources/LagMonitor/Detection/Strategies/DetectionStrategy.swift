/// One rule by which a loop is found to be stalled. Pure: no clock, no thread; memory that exists already.
///
/// A strategy is shown the loop again and again. It keeps the span of time that is a stall or may become one, and says
/// when that begins and ends to be one. What several strategies say of one loop is put together by ``StallDetector``.
package protocol DetectionStrategy: Sendable {
    static var kind: StallKind { get }
    /// From what length on a span is a stall.
    var thresholdNanoseconds: UInt64 { get }
    /// The stall, or what may become one; nil while all is well.
    var span: OngoingInterval? { get }
    /// Whether ``span`` is a stall.
    var isStalled: Bool { get }
    /// Whether it looks as if there might be one soon, so that closer looks are worth their cost.
    var isSuspicious: Bool { get }
    /// A time at which a look is wanted; nil: no special one. If it is past: at once.
    var nextPoll: UInt64? { get }
    /// Looks at the loop.
    /// - Parameter ignoreBefore: nothing before that counts.
    mutating func observe(_ observation: Observation, ignoreBefore: UInt64) -> DetectorEvent
    /// Nothing before `ignoreBefore` counts any more, and a stall in progress is none: another rule has told it.
    mutating func begin(notBefore ignoreBefore: UInt64)
}

/// What a strategy is shown.
package struct Observation: Sendable {
    /// No round of looks at all loops takes longer: what an observation shows may be younger than its time by so much.
    static let longestRoundNanoseconds: UInt64 = 500_000_000

    package var reading: BeaconReading
    package var now: UInt64
    /// Whether a wait of one interval ended, on time.
    package var isTick: Bool
    /// A process pause since the last look.
    package var processPause: ProcessPause?
    /// When the last ping was given to the loop; 0: it is still on its way.
    package var pingedNanoseconds: UInt64
    /// When the loop last ticked; 0: never.
    package var tickedNanoseconds: UInt64
    /// What was on top of the stack, if it was looked at.
    package var sample: SampleKey?

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

/// What a strategy says after a look.
package enum DetectorEvent: Sendable, Equatable {
    case nothing
    /// The first sign of a stall: prepare for a capture.
    case suspected
    /// The strategy's span is a stall from now on.
    case stalled
    /// The stall is over.
    case ended(StallInterval)
}
