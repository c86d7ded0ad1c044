internal import LagModel
internal import LagOutput
internal import LagReader

/// One of our lines, parsed back into the data it was built from.
///
/// It contains nothing of this process or host: the line names the process that stalled. What the writer truncated or omitted
/// stays so. The tree of all samples is not read because the formats made from this do not have it.
struct ParsedLine {
    enum Content {
        case stall(StallRecord)
        case notice(Notice)
    }

    let context: ProcessContext
    let content: Content
    /// `time`: nanoseconds since 1970.
    let time: Int64
    let fingerprint: String?
    /// Distinguishes it from every other line; duplicates have the same hash.
    let hash: UInt64
}

extension LineScanner {
    /// The line that was scanned last; nil if it lacks a field that its event requires, or has a value there that this version
    /// does not know.
    borrowing func parsedLine() -> ParsedLine? {
        guard let time = time(.time), let mono = count(.mono), let context = processContext() else { return nil }
        let output = OutputTime(realtimeNanoseconds: time, monotonicNanoseconds: mono.saturatingProduct(1000))
        let content: ParsedLine.Content?
        // A shipper may rewrite a stall's line; other lines have no better identity than their contents.
        var hash = UnsafeRawBufferPointer(bytes).withMemoryRebound(to: UInt8.self) { ByteHash.hash($0) }
        switch text(.event) {
        case "stall":
            content = record().map { .stall($0) }
            hash = withText(.phase) { ByteHash.hash($0, seed: idHash()) } ?? hash
        case "dropped": content = loss(output).map { .notice($0) }
        case "suppressed": content = suppression(output).map { .notice($0) }
        case "recurring": content = recurrence(output).map { .notice($0) }
        default: content = nil
        }
        guard let content else { return nil }
        return ParsedLine(context: context, content: content, time: time, fingerprint: text(.fingerprint), hash: hash)
    }

    private borrowing func processContext() -> ProcessContext? {
        guard let pid = value(.pid)?.threadID, let process = text(.processName), let host = text(.hostName),
            let boot = text(.bootID)
        else { return nil }
        var context = ProcessContext(
            pid: pid,
            processName: process,
            hostName: host,
            bootID: boot,
            serviceName: text(.serviceName),
            serviceVersion: text(.serviceVersion)
        )
        context.resource.namespaceName = text(.podNamespace)
        context.resource.podName = text(.podName)
        context.resource.containerName = text(.podContainer)
        context.resource.nodeName = text(.podNode)
        context.resource.containerID = text(.containerID)
        context.labels = labels()
        return context
    }

    /// A record without these is useless.
    private static var identity: [StallField] {
        [.id, .phase, .severity, .kind, .fingerprint, .duration, .threshold, .threadID, .loop, .cause, .capture]
    }

    private borrowing func record() -> StallRecord? {
        guard let id = text(.id).flatMap({ StallID($0) }) else { return nil }
        var record = StallRecord(
            id: id,
            startRealtimeNanoseconds: 0,
            startMonotonicNanoseconds: 0,
            durationNanoseconds: 0,
            thresholdNanoseconds: 0,
            phase: .end,
            kind: .callout,
            loop: "",
            threadID: 0
        )
        // The tree of all samples is not in these formats.
        for field in FieldTable.stall {
            guard let store = field.access.store else { continue }
            let isStored = value(field.field)?.fieldValue(field.content).map { store(&record, $0) } ?? false
            if !isStored, Self.identity.contains(field.field) { return nil }
        }
        // One bound without the other is useless.
        if nanoseconds(.durationMaximum) == nil { record.durationBounds = nil }
        return record
    }
}

// Lines that report on other lines.
extension LineScanner {
    private borrowing func loss(_ time: OutputTime) -> Notice? {
        guard let lost = count(.dropped), let reason = text(.reason).flatMap(Notice.DropReason.init),
            let total = count(.droppedTotal)
        else { return nil }
        return .dropped(lost, reason, total: total, time: time)
    }

    private borrowing func suppression(_ time: OutputTime) -> Notice? {
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
        held.message = rest(of: text(.message) ?? "", after: held.introduction)
        return Notice(.suppressed(held, total: total), time: time)
    }

    private borrowing func recurrence(_ time: OutputTime) -> Notice? {
        guard let fingerprint = text(.fingerprint), let number = count(.count), let window = nanoseconds(.window),
            let first = self.time(.firstTime), let last = self.time(.lastTime), let sum = nanoseconds(.total),
            let seen = count(.seenTotal)
        else { return nil }
        var recurrence = Recurrence(
            fingerprint: fingerprint,
            count: number,
            // The window is in seconds, but was read like the other times, in milliseconds.
            windowNanoseconds: window.saturatingProduct(1000),
            firstRealtimeNanoseconds: first,
            lastRealtimeNanoseconds: last,
            totalNanoseconds: sum,
            seenTotal: seen,
            culprit: text(.culprit),
            message: ""
        )
        recurrence.message = rest(of: text(.message) ?? "", after: recurrence.introduction)
        return Notice(.recurring(recurrence), time: time)
    }

    /// A notice's message ends with the last stall's message; what precedes that is rebuilt.
    private borrowing func rest(of message: String, after introduction: String) -> String {
        message.hasPrefix(introduction) ? String(message.dropFirst(introduction.count)) : message
    }
}
