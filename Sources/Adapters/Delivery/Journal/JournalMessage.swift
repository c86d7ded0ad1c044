internal import LagOutput

/// The fields of a journal entry in systemd's native protocol (systemd, "Native Journal Protocol"): `FIELD=value` and a newline;
/// for a value that contains a newline: `FIELD`, a newline, the value's length as 64 bits little-endian, the value, and a
/// newline.
struct JournalMessage {
    private(set) var bytes: [UInt8] = []

    mutating func reset() { bytes.removeAll(keepingCapacity: true) }

    mutating func add(_ field: StaticString, _ value: String) {
        var value = value
        value.withUTF8 { add(field, UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ field: StaticString, _ value: UnsafeRawBufferPointer) {
        field.withUTF8Buffer { bytes.append(contentsOf: $0) }
        if value.contains(UInt8(ascii: "\n")) {
            bytes.append(UInt8(ascii: "\n"))
            withUnsafeBytes(of: UInt64(value.count).littleEndian) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append(UInt8(ascii: "="))
        }
        bytes.append(contentsOf: value)
        bytes.append(UInt8(ascii: "\n"))
    }

    /// All fields of a line.
    mutating func add(_ line: UnsafeRawBufferPointer, _ facts: LineFacts, identifier: String) {
        add("MESSAGE", facts.message)
        add("PRIORITY", facts.severity.syslogPriority)
        add("SYSLOG_IDENTIFIER", identifier)
        add("LAGMONITOR_EVENT", facts.event)
        if let stall = facts.stall {
            add("LAGMONITOR_ID", stall.id.description)
            add("LAGMONITOR_PHASE", stall.phase.rawValue)
            add("LAGMONITOR_KIND", stall.kind.rawValue)
            add("LAGMONITOR_CAUSE", stall.cause.rawValue)
            add("LAGMONITOR_LOOP", stall.loop)
            add("LAGMONITOR_THREAD_ID", "\(stall.threadID)")
            // Whole milliseconds, rounded down as in the line.
            add("LAGMONITOR_DURATION_MS", "\(stall.durationNanoseconds / 1_000_000)")
        }
        if let fingerprint = facts.fingerprint { add("LAGMONITOR_FINGERPRINT", fingerprint) }
        if let culprit = facts.culprit { add("LAGMONITOR_CULPRIT", culprit) }
        add("LAGMONITOR_RECORD", UnsafeRawBufferPointer(rebasing: line.last == UInt8(ascii: "\n") ? line.dropLast() : line[...]))
    }
}

extension StallRecord.Severity {
    /// The number of RFC 5424.
    fileprivate var syslogPriority: String {
        switch self {
        case .warning: "4"
        case .error: "3"
        case .critical: "2"
        }
    }
}
