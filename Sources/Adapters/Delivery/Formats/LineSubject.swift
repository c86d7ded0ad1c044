internal import LagOutput

/// A record or a notice for the formats other than the native one.
///
/// Data for which every format has a place of its own is a member here; the rest is a list of native fields.
struct LineSubject {
    /// `event` of the native line.
    let event: LineEvent
    /// Distinguishes this line from every other, including other lines of the same stall; it is the same whenever it is created.
    let lineID: StallID
    /// `time`.
    let realtimeNanoseconds: Int64
    let severity: StallRecord.Severity
    let message: String
    /// The stall, if this is about one.
    var stall: StallRecord?
    /// Groups lines; nil: the lines of this event belong together.
    var fingerprint: String?
    var culprit: String?
    /// The notice, if this is not about a stall.
    private var notice: Notice?

    /// The stalled thread's stack, leaf first.
    var frames: [StallRecord.Frame] { stall?.frames ?? [] }

    /// Threads that hold locks, each once.
    var owners: [StallRecord.LockOwner] {
        guard let evidence = stall?.evidence else { return [] }
        var owners: [StallRecord.LockOwner] = []
        for owner in [evidence.lockOwner].compactMap({ $0 }) + evidence.lockCycle + evidence.lockChain
        where owner.threadID != stall?.threadID && !owners.contains(where: { $0.threadID == owner.threadID }) {
            owners.append(owner)
        }
        return owners
    }

    /// A pool's threads with stacks of their own, by what they were found doing; without those that have the record's stack.
    var workers: [StallRecord.WorkerGroup] { stall?.workers.filter { !$0.frames.isEmpty && !$0.threadIDs.isEmpty } ?? [] }

    /// The native fields that have no other place, in the order of the native line.
    func fields(_ caps: StringCaps, _ context: ProcessContext) -> [LineField] {
        if let stall { return LineField.all(of: stall, caps, context) }
        return notice.map { LineField.all(of: $0, caps, context) } ?? []
    }

    init(_ record: StallRecord) {
        event = .stall
        lineID = record.id.variant(of: record.phase)
        realtimeNanoseconds = record.startRealtimeNanoseconds
        severity = record.severity
        message = record.message
        stall = record
        fingerprint = record.fingerprint
        culprit = record.culprit
    }

    /// A notice has its own time, and an id derived from its content.
    init(_ notice: Notice) {
        event = notice.event
        realtimeNanoseconds = notice.time.realtimeNanoseconds
        severity = .warning
        message = notice.message
        self.notice = notice
        fingerprint = notice.fingerprint
        culprit = notice.culprit
        // Derived from what distinguishes notices in the native line: recreating the event from that line gives the same id.
        let subject = notice.loss?.reason.rawValue ?? notice.fingerprint ?? ""
        var hash = StableHash()
        hash.combine("\(event.rawValue) \(notice.time.monotonicNanoseconds / 1000) \(subject)".utf8)
        lineID = StallID(
            startRealtimeNanoseconds: notice.time.realtimeNanoseconds,
            randomHigh: hash.value >> 52,
            randomLow: hash.value
        )
    }
}

extension StallID {
    /// The id itself for the `end`; a different one for each other line of the stall.
    fileprivate func variant(of phase: StallRecord.Phase) -> StallID {
        let number: UInt64 =
            switch phase {
            case .end: 0
            case .begin: 1
            case .abandoned: 2
            }
        // The bits, not the time: an id that was read may have a time that 64 bits of nanoseconds cannot represent.
        return StallID(high: high, low: low ^ number)
    }
}
