/// The main contents of a line, for sinks whose destination has fields of its own.
public struct LineFacts: Sendable, Equatable {
    /// `event`: `stall`, `dropped`, `suppressed`, `recurring`.
    public var event: String
    /// `severity`.
    public var severity: StallRecord.Severity
    /// One human-readable line.
    public var message: String
    /// The stall; nil in a notice.
    public var stall: Stall?
    /// The fingerprint that groups stalls; nil if the line is about several groups, or none.
    public var fingerprint: String?
    /// `culprit`: the function to blame.
    public var culprit: String?
    /// The notice, if the line is not a stall.
    public var notice: Notice?

    /// The one stall that a line is about.
    public struct Stall: Sendable, Equatable {
        /// `id`.
        public var id: StallID
        /// `phase`: whether the stall is over.
        public var phase: StallRecord.Phase
        /// `kind`: the rule that found it.
        public var kind: StallRecord.Kind
        /// `cause`: why the thread stalled.
        public var cause: StallRecord.Cause
        /// `loop`: the loop's name.
        public var loop: String
        /// `thread_id`: the kernel's number of the stalled thread.
        public var threadID: Int32
        /// `trace_id` and `span_id` of the context that was running; nil: not known.
        public var traceID: String?
        public var spanID: String?
        package var durationNanoseconds: UInt64

        /// `duration_ms`: the stall's duration so far.
        public var duration: Duration { Duration(clampingNanoseconds: durationNanoseconds) }
    }

    public init(event: String, severity: StallRecord.Severity, message: String) {
        self.event = event
        self.severity = severity
        self.message = message
    }

    package init(_ record: borrowing StallRecord) {
        self.init(event: "stall", severity: record.severity, message: record.message)
        stall = Stall(
            id: record.id,
            phase: record.phase,
            kind: record.kind,
            cause: record.cause,
            loop: record.loop,
            threadID: record.threadID,
            traceID: record.traceID,
            spanID: record.spanID,
            durationNanoseconds: record.durationNanoseconds
        )
        fingerprint = record.fingerprint
        culprit = record.culprit
    }

    package init(_ notice: Notice) {
        self.init(event: notice.event.rawValue, severity: .warning, message: notice.message)
        self.notice = notice
        fingerprint = notice.fingerprint
        culprit = notice.culprit
    }
}
