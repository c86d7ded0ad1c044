public import LagMonitor

/// What a scripted loop does while it works: what a capture of a real loop would have found.
public struct ScriptedWork: Sendable, Equatable {
    /// Why it takes so long.
    public var cause: StallRecord.Cause
    /// The functions on the stack, innermost first; empty: no stack could be captured. All count as the program's own, so the
    /// first is the culprit.
    public var stack: [String]
    /// The measurements. If they are empty, the time is attributed to the cause.
    public var evidence: StallRecord.Evidence

    public init(
        _ cause: StallRecord.Cause = .cpu,
        in stack: [String] = ["scriptedWork()", "main"],
        evidence: StallRecord.Evidence = .init()
    ) {
        self.cause = cause
        self.stack = stack
        self.evidence = evidence
    }

    /// Adds this to a record.
    func enrich(_ record: inout StallRecord) {
        record.cause = cause
        record.evidence = evidence
        let duration = record.durationNanoseconds
        switch cause {
        case .cpu: record.evidence.cpuNanoseconds = evidence.cpuNanoseconds ?? duration
        case .runqueue: record.evidence.runDelayNanoseconds = evidence.runDelayNanoseconds ?? duration
        case .syscall, .lock, .deadlock, .pageFault: record.evidence.blockedNanoseconds = evidence.blockedNanoseconds ?? duration
        case .unknown: break
        }
        guard !stack.isEmpty else { return }
        record.capture = cause == .cpu || cause == .runqueue ? .signal : .passive
        record.captureError = nil
        record.samples = max(1, record.samples)
        record.samplesMatched = record.samples
        record.frames = stack.enumerated().map { Self.frame($0.element, at: UInt64($0.offset)) }
        record.framesTotal = stack.count
        record.culprit = stack.first
        record.culpritConfidence = 1
    }

    /// A frame of the program's own code, at an invented place.
    private static func frame(_ symbol: String, at depth: UInt64) -> StallRecord.Frame {
        let offset = 0x1000 + depth * 0x10
        return StallRecord.Frame(pc: 0x40_0000 + offset, module: "/usr/bin/scripted", offset: offset, symbol: symbol, inApp: true)
    }
}
