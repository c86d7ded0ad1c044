/// What the detector keeps of a stall, and what it says.
extension StallDetector {
    /// One stall in progress.
    package struct ActiveStall: Sendable, Equatable {
        package var lead: StallKind
        package var kinds: StallKinds
        /// The lead's.
        package var thresholdNanoseconds: UInt64
        /// Within the restore interval: not told.
        package var isMuted: Bool
        /// Told as a hang.
        package var isReported = false
    }

    /// A stall that is over.
    package struct DetectedStall: Sendable, Equatable {
        package var kind: StallKind
        package var kinds: StallKinds
        package var interval: StallInterval
        package var thresholdNanoseconds: UInt64
    }

    /// What a look brought; to be acted on in the order of the properties.
    package struct Events: Sendable, Equatable {
        /// The first sign of a stall: prepare for a capture.
        package var isSuspected = false
        package var ended: DetectedStall?
        /// A stall within the restore interval is over: counted only.
        package var isSuppressed = false
        /// A stall that was over before it could be looked at.
        package var unobserved: DetectedStall?
        /// A stall began, with this rule's span.
        package var opened: StallKind?
        /// The stall in progress has lasted long enough to be told.
        package var hanging: DetectedStall?
        /// A ping is wanted.
        package var wantsPing = false
    }

    /// What a watch that ends leaves behind.
    package enum FinishResult: Sendable, Equatable {
        case nothing
        case stalled(DetectedStall)
        case suppressed
    }
}
