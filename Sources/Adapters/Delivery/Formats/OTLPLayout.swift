internal import LagOutput

/// OTLP logs in the JSON encoding (OTLP 1.x, "JSON Protobuf Encoding"): an `ExportLogsServiceRequest` a line.
///
/// 64-bit integers are strings of decimal digits, enumerations are numbers, names are lowerCamelCase. Attributes have the names
/// of OpenTelemetry's semantic conventions (`thread.id`, `code.function.name`, `code.stacktrace`, …) if there are any, otherwise
/// `lagmonitor.` and the native field's name. The stack is text, one frame per line: structured frames would need four times the
/// bytes, and no log reader expands them.
struct OTLPLayout: SubjectLayout {
    func write(_ event: LineSubject, _ detail: LineDetail, context: ProcessContext, to writer: inout JSONLineWriter) {
        let caps = detail.caps
        writer.beginObject()
        writer.key("resourceLogs")
        writer.beginArray()
        writer.beginObject()
        writeResource(context, caps, to: &writer)
        writer.key("scopeLogs")
        writer.beginArray()
        writer.beginObject()
        writer.key("scope")
        writer.beginObject()
        writer.field("name", "lagmonitor")
        writer.endObject()
        writer.key("logRecords")
        writer.beginArray()
        writeRecord(event, detail, context, to: &writer)
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endArray()
        writer.endObject()
        writer.endLine()
    }

    private func writeResource(_ context: ProcessContext, _ caps: StringCaps, to writer: inout JSONLineWriter) {
        writer.key("resource")
        writer.beginObject()
        writer.key("attributes")
        writer.beginArray()
        // A resource must have a service.name; if it is unknown, the convention requires this.
        let service = context.serviceName ?? "unknown_service:\(context.processName)"
        writer.attribute("service.name", .text(service), maxBytes: caps.name)
        if caps.keepsOptional, let version = context.serviceVersion {
            writer.attribute("service.version", .text(version), maxBytes: caps.word)
        }
        writer.attribute("host.name", .text(context.hostName), maxBytes: caps.host)
        writer.attribute("process.pid", .integer(Int64(context.pid)))
        if caps.priority > .always {
            writer.attribute("process.executable.name", .text(context.processName), maxBytes: caps.name)
        }
        for (name, field) in LineField.resource(caps, context) { writer.attribute(name, field.value, maxBytes: field.maxBytes) }
        if caps.priority > .always { for label in context.labels.pairs { writer.attribute(label) } }
        writer.endArray()
        writer.endObject()
    }

    private func writeRecord(
        _ event: LineSubject,
        _ detail: LineDetail,
        _ context: ProcessContext,
        to writer: inout JSONLineWriter
    ) {
        let caps = detail.caps
        writer.beginObject()
        writer.key("timeUnixNano")
        // fixed64: there is nothing before 1970.
        writer.value { Decimal.append(UInt64(max(0, event.realtimeNanoseconds)), digits: 1, to: &$0) }
        writer.field("severityNumber", event.severity.otlpNumber)
        if caps.priority > .always { writer.field("severityText", event.severity.rawValue, caps.word) }
        writer.key("eventName")
        writer.value {
            JSONEscaping.append("lagmonitor.", to: &$0)
            JSONEscaping.append(event.event.rawValue, to: &$0)
        }
        writer.key("body")
        writer.beginObject()
        writer.field("stringValue", event.message, caps.message)
        writer.endObject()
        writer.key("attributes")
        writer.beginArray()
        if let stall = event.stall {
            writer.attribute("thread.id", .integer(Int64(stall.threadID)))
            if caps.priority > .always { writer.attribute("thread.name", .text(stall.threadName), maxBytes: caps.name) }
        }
        if caps.priority > .always, let culprit = event.culprit {
            writer.attribute("code.function.name", .text(culprit), maxBytes: caps.symbol)
        }
        for field in event.fields(caps, context) { writer.attribute(field) }
        if let stall = event.stall, caps.priority > .always { write(workOf: stall, caps, to: &writer) }
        if let evidence = event.stall?.evidence { write(evidence, detail, to: &writer) }
        if detail.frames > 0 {
            writer.stackAttribute("code.stacktrace", event.frames, count: detail.frames, maxBytes: detail.maxLineBytes)
        }
        writer.endArray()
        // With these, a trace viewer finds the stall.
        if caps.priority > .always, let stall = event.stall, let trace = stall.traceID, let span = stall.spanID {
            writer.field("traceId", trace, caps[.fixed])
            writer.field("spanId", span, caps[.fixed])
        }
        writer.endObject()
    }

    private func write(workOf stall: StallRecord, _ caps: StringCaps, to writer: inout JSONLineWriter) {
        if let request = stall.request {
            writer.attribute("lagmonitor.request.name", .text(request.name), maxBytes: caps.name)
            if let open = request.openNanoseconds { writer.attribute("lagmonitor.request.open_ms", .milliseconds(open)) }
            for attribute in request.attributes { writer.attribute("lagmonitor.request.attributes.", attribute, caps.name) }
        }
        if caps.keepsOptional { for field in stall.state { writer.attribute("lagmonitor.state.", field, caps.name) } }
        if let task = stall.task {
            writer.attribute("lagmonitor.task.id", .count(task.id))
            if let name = task.name { writer.attribute("lagmonitor.task.name", .text(name), maxBytes: caps.name) }
        }
    }

    private func write(_ evidence: StallRecord.Evidence, _ detail: LineDetail, to writer: inout JSONLineWriter) {
        let caps = detail.caps
        guard caps.priority > .always else { return }
        if let owner = evidence.lockOwner {
            writer.attribute("lagmonitor.lock_owner.thread_id", .integer(Int64(owner.threadID)))
            if let name = owner.threadName {
                writer.attribute("lagmonitor.lock_owner.thread_name", .text(name), maxBytes: caps.name)
            }
            if detail.ownerFrames > 0, !owner.frames.isEmpty {
                writer.stackAttribute(
                    "lagmonitor.lock_owner.stacktrace",
                    owner.frames.shown(detail.ownerFrames),
                    count: detail.ownerFrames,
                    maxBytes: detail.maxLineBytes
                )
            }
        }
        guard caps.keepsOptional else { return }
        for (name, threads) in [("lock_cycle" as StaticString, evidence.lockCycle), ("lock_chain", evidence.lockChain)]
        where !threads.isEmpty {
            writer.attribute(name, .texts(threads.map(\.inWords)), maxBytes: caps.reason, prefix: "lagmonitor.")
        }
    }
}

/// The text before and after the element of `resourceLogs` in a line, so that lines can be combined into one request.
package enum OTLPEnvelope {
    package static let opening = Array(#"{"resourceLogs":["#.utf8)
    package static let closing = Array("]}\n".utf8)
}

extension StallRecord.Severity {
    /// `SeverityNumber` of the logs data model.
    fileprivate var otlpNumber: UInt64 {
        switch self {
        case .warning: 13
        case .error: 17
        case .critical: 21
        }
    }
}

extension StallRecord.LockOwner {
    /// In one text: `thread 11626 'workload' waits for 0x555d0`.
    fileprivate var inWords: String {
        let name = threadName.map { " '\($0)'" } ?? ""
        let lock = waitsFor.map { " waits for 0x\(String($0, radix: 16))" } ?? ""
        return "thread \(threadID)\(name)\(lock)"
    }
}

extension JSONLineWriter {
    /// A `KeyValue`.
    fileprivate mutating func attribute(
        _ name: StaticString,
        _ value: FieldValue,
        maxBytes: Int = .max,
        keepingEnd: Bool = false,
        prefix: StaticString = ""
    ) {
        beginAttribute(name, prefix)
        anyValue(value, maxBytes, keepingEnd)
        endObject()
    }

    /// An operator's label, under its own name: every OpenTelemetry name contains a dot.
    fileprivate mutating func attribute(_ label: RecordLabels.Pair) {
        beginObject()
        key("key")
        value(label.name)
        key("value")
        anyValue(.text(label.value), .max)
        endObject()
    }

    /// The program's own data, under a separate name.
    fileprivate mutating func attribute(_ prefix: String, _ attribute: StallRecord.Request.Attribute, _ maxBytes: Int) {
        beginObject()
        key("key")
        value(prefix + attribute.name, maxBytes: prefix.utf8.count + maxBytes)
        key("value")
        anyValue(.text(attribute.value), maxBytes)
        endObject()
    }

    fileprivate mutating func attribute(_ field: LineField) {
        attribute(field.name, field.value, maxBytes: field.maxBytes, keepingEnd: field.keepsEnd, prefix: "lagmonitor.")
    }

    fileprivate mutating func stackAttribute(
        _ name: StaticString,
        _ frames: [StallRecord.Frame],
        count: Int,
        maxBytes: Int
    ) {
        beginAttribute(name, "")
        beginObject()
        key("stringValue")
        value { StackText.append(frames, count: count, maxBytes: maxBytes, to: &$0) }
        endObject()
        endObject()
    }

    private mutating func beginAttribute(_ name: StaticString, _ prefix: StaticString) {
        beginObject()
        key("key")
        value {
            JSONEscaping.append("\(prefix)", to: &$0)
            JSONEscaping.append("\(name)", to: &$0)
        }
        key("value")
    }

    /// An `AnyValue`.
    private mutating func anyValue(_ content: FieldValue, _ maxBytes: Int, _ keepingEnd: Bool = false) {
        beginObject()
        switch content {
        case .text(let text):
            field("stringValue", text, maxBytes, keepingEnd: keepingEnd)
        case .texts(let texts):
            key("arrayValue")
            beginObject()
            key("values")
            beginArray()
            for text in texts { anyValue(.text(text), maxBytes) }
            endArray()
            endObject()
        case .count(let number):
            // int64: a larger number is cut to the maximum.
            key("intValue")
            value { Decimal.append(min(number, UInt64(Int64.max)), to: &$0) }
        case .integer(let number):
            key("intValue")
            value {
                if number < 0 { $0.append(UInt8(ascii: "-")) }
                Decimal.append(number.magnitude, to: &$0)
            }
        case .milliseconds, .seconds, .share:
            key("doubleValue")
            write(content, maxBytes: maxBytes)
        case .flag:
            key("boolValue")
            write(content, maxBytes: maxBytes)
        default:
            key("stringValue")
            write(content, maxBytes: maxBytes)
        }
        endObject()
    }
}
