internal import LagOutput

/// Elastic Common Schema 8, as nested objects: no key contains a dot.
///
/// Data for which the schema has no field is under `lagmonitor`, with the native names. The stack is `error.stack_trace`, one
/// frame per line.
struct ECSLayout: SubjectLayout {
    /// The version of the used fields: the first version 8 that has all of them.
    private static let version: StaticString = "8.11.0"

    func write(_ event: LineSubject, _ detail: LineDetail, context: ProcessContext, to writer: inout JSONLineWriter) {
        let caps = detail.caps
        writer.beginObject()
        writer.key("@timestamp")
        writer.value { UTCTime.append(nanosecondsSince1970: event.realtimeNanoseconds, to: &$0) }
        writer.object("log") {
            $0.field("level", event.severity.rawValue, caps.word)
            $0.field("logger", "lagmonitor")
        }
        writer.field("message", event.message, caps.message)
        writer.object("ecs") { $0.field("version", Self.version) }
        writer.object("event") { write(event, caps, to: &$0) }
        writer.object("host") { $0.field("name", context.hostName, caps.host) }
        if caps.keepsOptional, let name = context.serviceName {
            writer.object("service") {
                $0.field("name", name, caps.name)
                $0.optional("version", context.serviceVersion, caps.word)
            }
        }
        if caps.keepsOptional { write(context.resource, caps, to: &writer) }
        if caps.priority > .always, !context.labels.isEmpty {
            writer.key("labels")
            writer.value(context.labels)
        }
        writer.object("process") {
            $0.field("pid", Int64(context.pid))
            $0.field("name", context.processName, caps.name)
            guard let stall = event.stall else { return }
            $0.object("thread") {
                $0.field("id", Int64(stall.threadID))
                $0.field("name", stall.threadName, caps.name)
            }
        }
        if caps.priority > .always, let stall = event.stall, let trace = stall.traceID, let span = stall.spanID {
            writer.object("trace") { $0.field("id", trace, caps[.fixed]) }
            writer.object("span") { $0.field("id", span, caps[.fixed]) }
        }
        if let stall = event.stall {
            writer.object("error") {
                // The kind of error, for grouping.
                $0.key("type")
                $0.value {
                    JSONEscaping.append("stall.", to: &$0)
                    JSONEscaping.append(stall.cause.rawValue, to: &$0)
                }
                if detail.frames > 0 {
                    $0.stack("stack_trace", stall.frames, count: detail.frames, maxBytes: detail.maxLineBytes)
                }
            }
        }
        writer.object("lagmonitor") {
            for field in event.fields(caps, context) { $0.write(field) }
            if let request = event.stall?.request, caps.priority > .always {
                $0.key("request")
                $0.write(request, maxBytes: caps.name)
            }
            if let task = event.stall?.task, caps.priority > .always {
                $0.key("task")
                $0.write(task, maxBytes: caps.name)
            }
            if let evidence = event.stall?.evidence { write(evidence, detail, to: &$0) }
        }
        writer.endObject()
        writer.endLine()
    }

    /// `container`, `orchestrator`, and `kubernetes` in the form of Elastic's own agents, beside the schema.
    private func write(_ resource: ProcessResource, _ caps: StringCaps, to writer: inout JSONLineWriter) {
        if let container = resource.containerID { writer.object("container") { $0.field("id", container, caps.hash) } }
        guard
            resource.podName != nil || resource.namespaceName != nil || resource.nodeName != nil || resource.containerName != nil
        else { return }
        writer.object("orchestrator") {
            $0.field("type", "kubernetes")
            $0.optional("namespace", resource.namespaceName, caps.name)
            guard let pod = resource.podName else { return }
            $0.object("resource") {
                $0.field("type", "pod")
                $0.field("name", pod, caps.host)
            }
        }
        writer.object("kubernetes") {
            $0.optional("namespace", resource.namespaceName, caps.name)
            let parts: [(StaticString, String?, Int)] = [
                ("pod", resource.podName, caps.host), ("container", resource.containerName, caps.name),
                ("node", resource.nodeName, caps.host),
            ]
            for (part, name, maxBytes) in parts {
                if let name { $0.object(part) { $0.field("name", name, maxBytes) } }
            }
        }
    }

    private func write(_ event: LineSubject, _ caps: StringCaps, to writer: inout JSONLineWriter) {
        writer.field("kind", "event")
        writer.key("category")
        writer.beginArray()
        writer.value("process")
        writer.endArray()
        writer.key("type")
        writer.beginArray()
        writer.value("info")
        writer.endArray()
        writer.field("module", "lagmonitor")
        writer.key("dataset")
        writer.value {
            JSONEscaping.append("lagmonitor.", to: &$0)
            JSONEscaping.append(event.event.rawValue, to: &$0)
        }
        writer.field("action", event.event.rawValue, caps.word)
        writer.key("id")
        writer.value(event.lineID)
        guard let stall = event.stall else { return }
        writer.field("reason", stall.cause.rawValue, caps.word)
        // Nanoseconds; the schema's type is a long.
        writer.field("duration", min(stall.durationNanoseconds, UInt64(Int64.max)))
        guard caps.keepsOptional else { return }
        writer.key("start")
        writer.value { UTCTime.append(nanosecondsSince1970: stall.startRealtimeNanoseconds, to: &$0) }
        writer.field("sequence", min(stall.sequence, UInt64(Int64.max)))
    }

    private func write(_ evidence: StallRecord.Evidence, _ detail: LineDetail, to writer: inout JSONLineWriter) {
        guard detail.caps.priority > .always else { return }
        if let owner = evidence.lockOwner { writer.object("lock_owner") { $0.write(owner, detail) } }
        guard detail.caps.keepsOptional else { return }
        for (name, threads) in [("lock_cycle" as StaticString, evidence.lockCycle), ("lock_chain", evidence.lockChain)]
        where !threads.isEmpty {
            writer.key(name)
            writer.beginArray()
            for thread in threads {
                writer.beginObject()
                writer.write(thread, detail)
                writer.endObject()
            }
            writer.endArray()
        }
    }
}

extension JSONLineWriter {
    fileprivate mutating func write(_ owner: StallRecord.LockOwner, _ detail: LineDetail) {
        field("thread_id", Int64(owner.threadID))
        optional("thread_name", owner.threadName, detail.caps.name)
        if let address = owner.waitsFor { field("waits_for", hex: address) }
        if detail.ownerFrames > 0, !owner.frames.isEmpty {
            stack("stack_trace", owner.frames.shown(detail.ownerFrames), count: detail.ownerFrames, maxBytes: detail.maxLineBytes)
        }
    }

    fileprivate mutating func stack(_ name: StaticString, _ frames: [StallRecord.Frame], count: Int, maxBytes: Int) {
        key(name)
        value { StackText.append(frames, count: count, maxBytes: maxBytes, to: &$0) }
    }

    /// A member that is an object.
    mutating func object(_ name: StaticString, _ members: (inout JSONLineWriter) -> Void) {
        key(name)
        beginObject()
        members(&self)
        endObject()
    }
}
