// The lines that are about other lines: what was lost, what was held back, what comes again and again.
extension JSONLineWriter {
    /// A whole line about lost records.
    mutating func write(_ notice: DropNotice, context: ProcessContext, caps: StringCaps) {
        writeNoticeHead("dropped", realtimeNanoseconds: notice.realtimeNanoseconds)
        field("dropped", notice.count)
        field("reason", notice.reason.rawValue, caps.word)
        writeNoticeContext(context, monotonicNanoseconds: notice.monotonicNanoseconds, caps: caps)
        field("dropped_total", notice.total)
        endObject()
        endLine()
    }

    /// A whole line about records that a limit held back.
    mutating func write(_ notice: SuppressionNotice, context: ProcessContext, caps: StringCaps) {
        let held = notice.suppression
        writeNoticeHead("suppressed", realtimeNanoseconds: notice.time.realtimeNanoseconds)
        field("severity", StallRecord.Severity.warning.rawValue, caps.word)
        field("message", held.notice, caps.message)
        if let fingerprint = held.fingerprint {
            field("fingerprint", fingerprint, caps.hash)
        } else {
            field("fingerprints", held.fingerprints)
        }
        field("suppressed", held.count)
        time("first_time", held.firstRealtimeNanoseconds)
        time("last_time", held.lastRealtimeNanoseconds)
        milliseconds("longest_ms", held.longestNanoseconds)
        milliseconds("total_ms", held.totalNanoseconds)
        if caps.keepsOptional { optional("culprit", held.culprit, caps.symbol) }
        writeNoticeContext(context, monotonicNanoseconds: notice.time.monotonicNanoseconds, caps: caps)
        field("suppressed_total", notice.total)
        endObject()
        endLine()
    }

    /// A whole line about a stall that comes again and again.
    mutating func write(_ notice: RecurrenceNotice, context: ProcessContext, caps: StringCaps) {
        let recurrence = notice.recurrence
        writeNoticeHead("recurring", realtimeNanoseconds: notice.time.realtimeNanoseconds)
        field("severity", StallRecord.Severity.warning.rawValue, caps.word)
        field("message", recurrence.notice, caps.message)
        field("fingerprint", recurrence.fingerprint, caps.hash)
        field("count", recurrence.count)
        key("window_s")
        value(thousandths: recurrence.windowNanoseconds / 1_000_000)
        time("first_time", recurrence.firstRealtimeNanoseconds)
        time("last_time", recurrence.lastRealtimeNanoseconds)
        milliseconds("total_ms", recurrence.totalNanoseconds)
        field("seen_total", recurrence.seenTotal)
        if caps.keepsOptional { optional("culprit", recurrence.culprit, caps.symbol) }
        writeNoticeContext(context, monotonicNanoseconds: notice.time.monotonicNanoseconds, caps: caps)
        endObject()
        endLine()
    }

    private mutating func writeNoticeHead(_ event: StaticString, realtimeNanoseconds: Int64) {
        beginObject()
        field("schema", StallRecord.schema)
        time("time", realtimeNanoseconds)
        field("event", event)
    }

    private mutating func writeNoticeContext(_ context: ProcessContext, monotonicNanoseconds: UInt64, caps: StringCaps) {
        field("mono_us", monotonicNanoseconds / 1000)
        field("boot_id", context.bootID, StringCaps.bootID)
        key("pid")
        value(Int64(context.pid))
        field("process_name", context.processName, caps.name)
        field("host_name", context.hostName, caps.host)
        if caps.keepsOptional {
            optional("service_name", context.serviceName, caps.name)
            optional("service_version", context.serviceVersion, caps.word)
        }
    }

    private mutating func time(_ name: StaticString, _ realtimeNanoseconds: Int64) {
        key(name)
        value { UTCTime.append(nanosecondsSince1970: realtimeNanoseconds, to: &$0) }
    }
}

extension Suppression {
    /// `message` of the line; what is in front of ``message`` follows from the rest.
    package var notice: String {
        let records = count == 1 ? "1 record" : "\(count) records"
        let whose = fingerprint == nil && fingerprints > 1 ? "of \(fingerprints) fingerprints" : "of one fingerprint"
        return "\(records) \(whose) held back, the last one: \(message)"
    }
}

extension Recurrence {
    /// `message` of the line; what is in front of ``message`` follows from the rest.
    package var notice: String {
        "the same stall \(count == 1 ? "once" : "\(count) times") within \(windowNanoseconds / 1_000_000_000) s, at last: \(message)"
    }
}
