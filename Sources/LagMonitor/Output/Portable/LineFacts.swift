/// What a line says, in a few words: for sinks whose destination has fields of its own.
public struct LineFacts: Sendable, Equatable {
    /// `event`: `stall`, `dropped`, `suppressed`, `recurring`.
    public var event: String
    public var severity: StallRecord.Severity
    /// One line for people.
    public var message: String
    /// Of a stall; nil in a notice.
    public var stall: Stall?
    /// What groups stalls; nil where the line is about several groups, or none.
    public var fingerprint: String?
    public var culprit: String?
    /// Of a line that is no stall.
    public var notice: Notice?

    /// The one stall that a line is about.
    public struct Stall: Sendable, Equatable {
        public var id: StallID
        public var phase: StallRecord.Phase
        public var kind: StallRecord.Kind
        public var cause: StallRecord.Cause
        public var loop: String
        public var threadID: Int32
        package var durationNanoseconds: UInt64

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
