internal import LagReader
internal import LagOutput

/// A line of ours, read back into what it was made of.
///
/// Nothing of this process or host is in it: who stalled stands in the line. What the writer cut or left out stays so. The tree of
/// all looks is not read: the formats that are made of this do not have it.
struct ParsedLine {
    enum Content {
        case stall(StallRecord)
        case dropped(DropNotice)
        case suppressed(SuppressionNotice)
        case recurring(RecurrenceNotice)
    }

    let context: ProcessContext
    let content: Content
    /// `time`: nanoseconds since 1970.
    let time: Int64
    let fingerprint: String?
    /// Tells it from every other line, however often it comes.
    let hash: UInt64
}

extension LineScanner {
    /// The line that was scanned last; nil where it lacks what a line of its event must have, or has a word there that this version does
    /// not know.
    borrowing func parsedLine() -> ParsedLine? {
        guard let time = time(.time), let mono = count(.mono), let context = processContext() else { return nil }
        let nanoseconds = mono.multipliedSaturated(by: 1000)
        let output = OutputTime(realtimeNanoseconds: time, monotonicNanoseconds: nanoseconds)
        let content: ParsedLine.Content?
        // A shipper may write a stall's line anew; of the others there is no better name than what they say.
        var hash = UnsafeRawBufferPointer(bytes).withMemoryRebound(to: UInt8.self) { ByteHash.hash($0) }
        switch text(.event) {
        case "stall":
            content = record(time, nanoseconds).map { .stall($0) }
            hash = withText(.phase) { ByteHash.hash($0, seed: idHash()) } ?? hash
        case "dropped": content = dropNotice(output).map { .dropped($0) }
        case "suppressed": content = suppressionNotice(output).map { .suppressed($0) }
        case "recurring": content = recurrenceNotice(output).map { .recurring($0) }
        default: content = nil
        }
        guard let content else { return nil }
        return ParsedLine(context: context, content: content, time: time, fingerprint: text(.fingerprint), hash: hash)
    }

    private borrowing func processContext() -> ProcessContext? {
        guard let pid = value(.pid)?.threadID, let process = text(.processName), let host = text(.hostName),
            let boot = text(.bootID)
        else { return nil }
        return ProcessContext(
            pid: pid,
            processName: process,
            hostName: host,
            bootID: boot,
            serviceName: text(.serviceName),
            serviceVersion: text(.serviceVersion)
        )
    }

    private borrowing func record(_ time: Int64, _ monotonicNanoseconds: UInt64) -> StallRecord? {
        guard let id = text(.id).flatMap({ StallID($0) }), let duration = nanoseconds(.duration),
            let threshold = nanoseconds(.threshold), let threadID = value(.threadID)?.threadID, let loop = text(.loop),
            let phase = text(.phase).flatMap(StallRecord.Phase.init), let kind = text(.kind).flatMap(StallRecord.Kind.init),
            let severity = text(.severity).flatMap(StallRecord.Severity.init),
            let cause = text(.cause).flatMap(StallRecord.Cause.init),
            let capture = text(.capture).flatMap(StallRecord.Capture.init), let fingerprint = text(.fingerprint)
        else { return nil }
        var record = StallRecord(
            id: id,
            startRealtimeNanoseconds: time,
            startMonotonicNanoseconds: monotonicNanoseconds,
            durationNanoseconds: duration,
            thresholdNanoseconds: threshold,
            phase: phase,
            kind: kind,
            loop: loop,
            threadID: threadID,
            severity: severity,
            fingerprint: fingerprint,
            cause: cause,
            capture: capture
        )
        if let least = nanoseconds(.durationMinimum), let most = nanoseconds(.durationMaximum), least <= most {
            record.durationBounds = least...most
        }
        record.excludedNanoseconds = nanoseconds(.excluded)
        record.foundBy = value(.foundBy)?.elements { $0.text.flatMap(StallRecord.Kind.init) } ?? []
        record.threadName = text(.threadName) ?? ""
        record.message = text(.message) ?? ""
        record.stackHash = text(.stackHash) ?? ""
        record.activity = text(.activity)
        record.mode = text(.mode)
        record.evidence = evidence()
        record.captureError = text(.captureError)
        record.framePointerRecovered = value(.framePointerRecovered)?.flag ?? false
        record.unwindEnd = text(.unwindEnd)
        record.samples = count(.samples) ?? 0
        record.samplesMatched = count(.samplesMatched) ?? 0
        record.samplesShare = number(.samplesShare)
        record.workers = value(.workers)?.elements(\.workerGroup) ?? []
        record.culprit = text(.culprit)
        record.culpritConfidence = number(.culpritConfidence)
        record.sequence = count(.sequence) ?? 0
        record.droppedTotal = count(.droppedTotal) ?? 0
        record.suppressedTotal = count(.suppressedTotal) ?? 0
        record.framesTotal = count(.framesTotal).map { Int(clamping: $0) } ?? 0
        record.frames = value(.frames)?.frames ?? []
        return record
    }

    private borrowing func evidence() -> StallRecord.Evidence {
        var evidence = StallRecord.Evidence()
        evidence.cpuNanoseconds = nanoseconds(.cpu)
        evidence.runDelayNanoseconds = nanoseconds(.runDelay)
        evidence.blockedNanoseconds = nanoseconds(.blocked)
        evidence.systemNanoseconds = nanoseconds(.system)
        evidence.minorFaults = count(.minorFaults)
        evidence.majorFaults = count(.majorFaults)
        evidence.syscall = text(.syscall)
        evidence.syscallDescriptor = value(.syscallDescriptor)?.threadID
        evidence.syscallTarget = text(.syscallTarget)
        evidence.wchan = text(.wchan)
        // Kinds may be added: one that is not known here is left out.
        evidence.lockKind = text(.lockKind).flatMap(StallRecord.LockKind.init)
        evidence.lockAddress = value(.lockAddress)?.address
        evidence.lockOwner = value(.lockOwner)?.lockOwner
        evidence.lockCycle = value(.lockCycle)?.elements(\.lockOwner) ?? []
        evidence.lockChain = value(.lockChain)?.elements(\.lockOwner) ?? []
        return evidence
    }

    private borrowing func value(_ field: StallField) -> LineValue? { span(field).map { LineValue(bytes, $0) } }
}

// The lines about other lines.
extension LineScanner {
    private borrowing func dropNotice(_ time: OutputTime) -> DropNotice? {
        guard let lost = count(.dropped), let reason = text(.reason).flatMap(DropNotice.Reason.init),
            let total = count(.droppedTotal)
        else { return nil }
        return DropNotice(
            count: lost,
            reason: reason,
            realtimeNanoseconds: time.realtimeNanoseconds,
            monotonicNanoseconds: time.monotonicNanoseconds,
            total: total
        )
    }

    private borrowing func suppressionNotice(_ time: OutputTime) -> SuppressionNotice? {
        guard let number = count(.suppressed), let first = self.time(.firstTime), let last = self.time(.lastTime),
            let longest = nanoseconds(.longest), let sum = nanoseconds(.total), let total = count(.suppressedTotal)
        else { return nil }
        var held = Suppression(fingerprint: text(.fingerprint))
        held.fingerprints = count(.fingerprints) ?? 1
        held.count = number
        held.firstRealtimeNanoseconds = first
        held.lastRealtimeNanoseconds = last
        held.longestNanoseconds = longest
        held.totalNanoseconds = sum
        held.culprit = text(.culprit)
        held.message = rest(of: text(.message) ?? "", after: held.notice)
        return SuppressionNotice(suppression: held, time: time, total: total)
    }

    private borrowing func recurrenceNotice(_ time: OutputTime) -> RecurrenceNotice? {
        guard let fingerprint = text(.fingerprint), let number = count(.count), let window = nanoseconds(.window),
            let first = self.time(.firstTime), let last = self.time(.lastTime), let sum = nanoseconds(.total),
            let seen = count(.seenTotal)
        else { return nil }
        var recurrence = Recurrence(
            fingerprint: fingerprint,
            count: number,
            // Seconds, read as the milliseconds that the other times are.
            windowNanoseconds: window.multipliedSaturated(by: 1000),
            firstRealtimeNanoseconds: first,
            lastRealtimeNanoseconds: last,
            totalNanoseconds: sum,
            seenTotal: seen,
            culprit: text(.culprit),
            message: ""
        )
        recurrence.message = rest(of: text(.message) ?? "", after: recurrence.notice)
        return RecurrenceNotice(recurrence: recurrence, time: time)
    }

    /// A notice's message ends with the last stall's: what is before is made anew.
    private borrowing func rest(of message: String, after introduction: String) -> String {
        message.hasPrefix(introduction) ? String(message.dropFirst(introduction.count)) : message
    }
}

extension UInt64 {
    fileprivate func multipliedSaturated(by factor: UInt64) -> UInt64 {
        let (product, isTooMuch) = multipliedReportingOverflow(by: factor)
        return isTooMuch ? .max : product
    }
}
