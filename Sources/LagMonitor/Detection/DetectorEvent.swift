package enum DetectorEvent: Sendable, Equatable {
    /// The first sign of a stall: prepare for a capture.
    case suspected
    /// A stall began, and is in progress.
    case opened(ActiveStall, StallInterval)
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
