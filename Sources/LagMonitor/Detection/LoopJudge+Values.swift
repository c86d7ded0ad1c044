/// What the judge keeps of a stall, and what it says.
extension LoopJudge {
    /// One stall in progress.
    package struct Incident: Sendable, Equatable {
        package var lead: StallKind
        package var kinds: StallKinds
        /// The lead's.
        package var thresholdNanoseconds: UInt64
        /// Within the restore interval: not told.
        package var isMuted: Bool
        /// Told as a hang.
        package var isTold = false
    }

    /// An incident that is over.
    package struct Ended: Sendable, Equatable {
        package var kind: StallKind
        package var kinds: StallKinds
        package var extent: Extent
        package var thresholdNanoseconds: UInt64
    }

    /// What a look brought; to be acted on in the order of the properties.
    package struct Judgement: Sendable, Equatable {
        /// The first sign of a stall: prepare for a capture.
        package var isSuspected = false
        package var ended: Ended?
        /// An incident within the restore interval is over: counted only.
        package var isSuppressed = false
        /// An incident that was over before it could be looked at.
        package var passed: Ended?
        /// An incident began, with this rule's span.
        package var opened: StallKind?
        /// The incident in progress has lasted long enough to be told.
        package var hanging: Ended?
        /// A ping is wanted.
        package var wantsPing = false
    }

    /// What a watch that ends leaves behind.
    package enum Remainder: Sendable, Equatable {
        case nothing
        case stalled(Ended)
        case suppressed
    }
}
