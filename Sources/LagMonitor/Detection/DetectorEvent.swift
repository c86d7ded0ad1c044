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

package enum DetectorEvent: Sendable, Equatable {
    /// The first sign of a stall: prepare for a capture.
    case suspected
    /// A stall began, and this rule found it. It is ``StallDetector/activeStall``.
    case opened(StallKind)
    /// The stall in progress has lasted long enough to be reported before its end.
    case hanging(ActiveStall, StallInterval)
    /// The stall that was opened is over.
    case ended(ActiveStall, StallInterval)
    /// A stall that was over before it could be observed: it was never opened.
    case unobserved(ActiveStall, StallInterval)
    /// A stall within the restore interval is over: counted only.
    case suppressed
    /// A rule requests a ping of the loop.
    case wantsPing
}

/// The events of one observation, in the order in which they must be handled. Allocates nothing.
package struct DetectorEvents: Sendable {
    /// The maximum of one observation: suspected, ended, opened, ended, opened, wantsPing.
    private static let capacity = 6

    private var slots = InlineArray<6, DetectorEvent>(repeating: .suspected)
    package private(set) var count = 0

    package init() {}

    package subscript(index: Int) -> DetectorEvent {
        precondition(index >= 0 && index < count, "event \(index) of \(count)")
        return slots[index]
    }

    var hasOpened: Bool {
        for index in 0..<count { if case .opened = slots[index] { return true } }
        return false
    }

    /// Several rules may suspect a stall in one observation: the capture is prepared once.
    mutating func appendSuspicion() {
        for index in 0..<count where slots[index] == .suspected { return }
        append(.suspected)
    }

    mutating func append(_ event: DetectorEvent) {
        assert(count < Self.capacity, "more events than one observation brings")
        // Never crash the host: without the event, a stall may be missed, no more.
        guard count < Self.capacity else { return }
        slots[count] = event
        count += 1
    }
}
