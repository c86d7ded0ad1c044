/// A record or a notice as the formats other than the native one see it.
///
/// What every format has a place of its own for is a member here; the rest comes as a list of native fields.
struct LineEvent {
    /// `event` of the native line.
    let event: StaticString
    /// Tells this line from every other, also from other lines of the same stall; the same whenever it is made.
    let lineID: StallID
    /// `time`.
    let realtimeNanoseconds: Int64
    let severity: StallRecord.Severity
    let message: String
    /// What this is about, if it is one stall.
    var stall: StallRecord?
    /// Groups lines; nil: those of this event belong together.
    var fingerprint: String?
    var culprit: String?
    /// What else a notice says; a stall's fields depend on the room there is.
    private var noticeFields: [LineField] = []

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

    /// A pool's threads with a stack of their own, by what they were found doing; not those that have the record's.
    var workers: [StallRecord.WorkerGroup] { stall?.workers.filter { !$0.frames.isEmpty && !$0.threadIDs.isEmpty } ?? [] }

    /// The native fields that have no other place, in the order of the native line.
    func fields(_ caps: StringCaps, _ context: ProcessContext) -> [LineField] {
        if let stall { return LineField.all(of: stall, caps, context) }
        return caps.fieldPriority == .none ? noticeFields.filter { $0.isRequired } : noticeFields + LineField.clock(context, monotonic)
    }

    private let monotonic: UInt64

    init(_ record: StallRecord) {
        event = "stall"
        lineID = record.id.variant(of: record.phase)
        realtimeNanoseconds = record.startRealtimeNanoseconds
        monotonic = record.startMonotonicNanoseconds
        severity = record.severity
        message = record.message
        stall = record
        fingerprint = record.fingerprint
        culprit = record.culprit
    }

    init(_ notice: DropNotice) {
        self.init("dropped", notice.time, about: notice.reason.rawValue, message: notice.message)
        noticeFields = [
            LineField("dropped", .count(notice.count)), LineField("reason", .text(notice.reason.rawValue, maxBytes: 32)),
            LineField("dropped_total", .count(notice.total)),
        ]
    }

    init(_ notice: SuppressionNotice) {
        let held = notice.suppression
        self.init("suppressed", notice.time, about: held.fingerprint ?? "", message: held.notice)
        fingerprint = held.fingerprint
        culprit = held.culprit
        noticeFields = [
            held.fingerprint.map { LineField("fingerprint", .text($0, maxBytes: 64)) }
                ?? LineField("fingerprints", .count(held.fingerprints)),
            LineField("suppressed", .count(held.count)),
            LineField("first_time", .time(held.firstRealtimeNanoseconds)),
            LineField("last_time", .time(held.lastRealtimeNanoseconds)),
            LineField("longest_ms", .thousandths(held.longestNanoseconds / 1000)),
            LineField("total_ms", .thousandths(held.totalNanoseconds / 1000)),
            LineField("suppressed_total", .count(notice.total)),
        ]
        noticeFields += held.culprit.map { [LineField("culprit", .text($0, maxBytes: LineLimits.maximumSymbolBytes))] } ?? []
    }

    init(_ notice: RecurrenceNotice) {
        let recurrence = notice.recurrence
        self.init("recurring", notice.time, about: recurrence.fingerprint, message: recurrence.notice)
        fingerprint = recurrence.fingerprint
        culprit = recurrence.culprit
        noticeFields = [
            LineField("fingerprint", .text(recurrence.fingerprint, maxBytes: 64)),
            LineField("count", .count(recurrence.count)),
            LineField("window_s", .thousandths(recurrence.windowNanoseconds / 1_000_000)),
            LineField("first_time", .time(recurrence.firstRealtimeNanoseconds)),
            LineField("last_time", .time(recurrence.lastRealtimeNanoseconds)),
            LineField("total_ms", .thousandths(recurrence.totalNanoseconds / 1000)),
            LineField("seen_total", .count(recurrence.seenTotal)),
        ]
        noticeFields +=
            recurrence.culprit.map { [LineField("culprit", .text($0, maxBytes: LineLimits.maximumSymbolBytes))] } ?? []
    }

    /// A notice: its own time, and an id made of what it says.
    /// - Parameter subject: what tells apart notices of one event that are written at once.
    private init(_ event: StaticString, _ time: OutputTime, about subject: String, message: String) {
        self.event = event
        realtimeNanoseconds = time.realtimeNanoseconds
        monotonic = time.monotonicNanoseconds
        severity = .warning
        self.message = message
        // FNV-1a over what tells notices apart, as far as the native line says it: who makes the event of that has the same id.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in "\(event) \(time.monotonicNanoseconds / 1000) \(subject)".utf8 {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        lineID = StallID(
            startRealtimeNanoseconds: time.realtimeNanoseconds,
            randomHigh: hash >> 52,
            randomLow: hash
        )
    }
}

extension LineField {
    /// Whether a notice says nothing without it.
    fileprivate var isRequired: Bool {
        ["dropped", "reason", "dropped_total", "suppressed", "fingerprint", "count"].contains("\(name)")
    }
}

extension StallID {
    /// The id itself for the `end`; another one for each other line of the stall.
    fileprivate func variant(of phase: StallRecord.Phase) -> StallID {
        let number: UInt64 =
            switch phase {
            case .end: 0
            case .begin: 1
            case .abandoned: 2
            }
        return StallID(startRealtimeNanoseconds: Int64(milliseconds) * 1_000_000, randomHigh: high, randomLow: low ^ number)
    }
}

extension DropNotice {
    fileprivate var time: OutputTime {
        OutputTime(realtimeNanoseconds: realtimeNanoseconds, monotonicNanoseconds: monotonicNanoseconds)
    }

    /// For formats in which every line has a message.
    var message: String {
        let records = count == 1 ? "1 record" : "\(count) records"
        return switch reason {
        case .queueFull: "\(records) lost: there was no room to prepare them"
        case .sinkFailed: "\(records) lost: the output did not take them"
        case .sinkSlow: "\(records) lost: the output's reader was too slow"
        case .unfinishedRefused:
            "\(count == 1 ? "a file" : "\(count) files") of stalls in progress of an earlier process refused: damaged or too old"
        }
    }
}
