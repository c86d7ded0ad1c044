/// One stall in progress, as the rules found it.
package struct ActiveStall: Sendable, Equatable {
    /// The rule that knows beginning and end most exactly: the stall's times and threshold are that rule's.
    package var lead: StallKind
    /// All rules that found it.
    package var kinds: StallKinds
    /// The lead's threshold.
    package var thresholdNanoseconds: UInt64
    /// Within the restore interval: counted, not reported.
    package var isMuted: Bool
    /// Reported as a hang.
    package var isReported = false
}
