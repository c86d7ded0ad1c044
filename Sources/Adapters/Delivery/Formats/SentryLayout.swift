internal import LagOutput

/// A Sentry event: the JSON of an envelope's `event` item (and of the older store endpoint).
///
/// `event_id` is the line's: a `begin` and an `end` line are two events, because Sentry keeps one event an id; the tag `stall_id`
/// connects them. Frames are root first, as Sentry requires. `debug_meta` lists the file of each frame with its build-id and load
/// address (`pc` − `offset`), so that Sentry can symbolicate with uploaded debug files.
struct SentryLayout: SubjectLayout {
    func write(_ event: LineSubject, _ detail: LineDetail, context: ProcessContext, to writer: inout JSONLineWriter) {
        let caps = detail.caps
        writer.beginObject()
        writer.key("event_id")
        writer.value { bytes in event.lineID.forEachCharacter { if $0 != UInt8(ascii: "-") { bytes.append($0) } } }
        writer.key("timestamp")
        writer.value { UTCTime.append(nanosecondsSince1970: event.realtimeNanoseconds, to: &$0) }
        writer.field("platform", "native")
        writer.field("level", event.severity.sentryLevel)
        writer.field("logger", "lagmonitor")
        writer.field("server_name", context.hostName, caps.host)
        if caps.keepsOptional, let name = context.serviceName, let version = context.serviceVersion {
            writer.field("release", "\(name)@\(version)", caps.name + caps.word)
        }
        if caps.priority > .always { writer.optional("transaction", event.culprit, min(200, caps.symbol)) }
        writer.key("fingerprint")
        writer.beginArray()
        if let fingerprint = event.fingerprint { writer.value(fingerprint, maxBytes: caps.hash) }
        if event.stall == nil {
            writer.value {
                JSONEscaping.append("lagmonitor.", to: &$0)
                JSONEscaping.append(event.event.rawValue, to: &$0)
            }
        }
        writer.endArray()
        writer.object("tags") {
            write(tagsOf: event, caps, to: &$0)
            guard caps.priority > .always else { return }
            for label in context.labels.pairs {
                $0.key(label: label.name)
                $0.value(label.value)
            }
        }
        if let stall = event.stall {
            write(stall, event, detail, to: &writer)
        } else {
            writer.object("logentry") { $0.field("formatted", event.message, caps.message) }
        }
        writer.object("contexts") {
            if caps.priority > .always, let stall = event.stall, let trace = stall.traceID, let span = stall.spanID {
                $0.object("trace") { own in
                    own.field("trace_id", trace, caps[.fixed])
                    own.field("span_id", span, caps[.fixed])
                }
            }
            $0.object("lagmonitor") { own in
                own.key("pid")
                own.value(Int64(context.pid))
                own.field("process_name", context.processName, caps.name)
                for (_, field) in LineField.resource(caps, context) { own.write(field) }
                for field in event.fields(caps, context) { own.write(field) }
                if let request = event.stall?.request, caps.priority > .always {
                    own.key("request")
                    own.write(request, maxBytes: caps.name)
                }
                if let task = event.stall?.task, caps.priority > .always {
                    own.key("task")
                    own.write(task, maxBytes: caps.name)
                }
            }
        }
        writer.endObject()
        writer.endLine()
    }

    /// A tag is a text of at most 200 characters.
    private func write(tagsOf event: LineSubject, _ caps: StringCaps, to writer: inout JSONLineWriter) {
        writer.field("event", event.event.rawValue, caps.word)
        guard let stall = event.stall else { return }
        writer.field("cause", stall.cause.rawValue, caps.word)
        writer.key("stall_id")
        writer.value(stall.id)
        guard caps.priority > .always else { return }
        writer.field("phase", stall.phase.rawValue, caps.word)
        writer.field("kind", stall.kind.rawValue, caps.word)
        writer.field("loop", stall.loop, caps.name)
    }

    private func write(_ stall: StallRecord, _ event: LineSubject, _ detail: LineDetail, to writer: inout JSONLineWriter) {
        let caps = detail.caps
        let frames = Array(stall.frames.prefix(detail.frames))
        writer.object("exception") {
            $0.key("values")
            $0.beginArray()
            $0.beginObject()
            $0.field("type", "Stall")
            $0.field("value", stall.message, caps.message)
            $0.field("thread_id", Int64(stall.threadID))
            $0.object("mechanism") {
                $0.field("type", "lagmonitor")
                $0.field("handled", true)
            }
            $0.stackTrace(frames, functions: detail.functions, maxBytes: detail.maxLineBytes)
            $0.endObject()
            $0.endArray()
        }
        let owners = caps.priority > .always ? event.owners : []
        let workers = caps.keepsOptional ? event.workers : []
        writer.object("threads") {
            $0.key("values")
            $0.beginArray()
            // Its stack is in the exception.
            $0.thread(stall.threadID, stall.threadName, caps, isStalled: true)
            $0.endObject()
            for owner in owners {
                $0.thread(owner.threadID, owner.threadName, caps, isStalled: false)
                $0.stackTrace(owner.frames.shown(detail.ownerFrames), functions: false, maxBytes: detail.maxLineBytes)
                $0.endObject()
            }
            // Threads that were found doing the same appear once.
            for group in workers {
                let name = group.threadIDs.count == 1 ? nil : "\(group.threadIDs.count) workers alike"
                $0.thread(group.threadIDs[0], name, caps, isStalled: false)
                $0.stackTrace(group.frames.shown(detail.ownerFrames), functions: false, maxBytes: detail.maxLineBytes)
                $0.endObject()
            }
            $0.endArray()
        }
        let others = owners.map(\.frames) + workers.map(\.frames)
        let images = SentryImage.all(of: frames + others.flatMap { $0.shown(detail.ownerFrames) })
        guard !images.isEmpty else { return }
        writer.object("debug_meta") {
            $0.key("images")
            $0.beginArray()
            for image in images { $0.write(image) }
            $0.endArray()
        }
    }
}

extension StallRecord.Severity {
    fileprivate var sentryLevel: StaticString {
        switch self {
        case .warning: "warning"
        case .error: "error"
        case .critical: "fatal"
        }
    }
}

extension JSONLineWriter {
    /// Leaves the object open.
    fileprivate mutating func thread(_ id: Int32, _ name: String?, _ caps: StringCaps, isStalled: Bool) {
        beginObject()
        field("id", Int64(id))
        optional("name", name, caps.name)
        field("crashed", false)
        key("current")
        value(isStalled)
    }

    /// Root first. Writes nothing if there are no frames: Sentry refuses an empty stack.
    fileprivate mutating func stackTrace(_ frames: [StallRecord.Frame], functions: Bool, maxBytes: Int) {
        guard !frames.isEmpty else { return }
        object("stacktrace") {
            $0.key("frames")
            $0.beginArray()
            for frame in frames.reversed() where $0.count <= maxBytes { $0.sentry(frame, functions: functions) }
            $0.endArray()
        }
    }

    private mutating func sentry(_ frame: StallRecord.Frame, functions: Bool) {
        beginObject()
        // An inlined frame has no address of its own: with one, Sentry would expand it again. A language's frame has no address
        // that Sentry could look up.
        if frame.inlined != true, frame.language == nil { field("instruction_addr", hex: frame.pc) }
        optional("platform", frame.language, StringCaps.languageName)
        // A language's symbol also contains the file, which Sentry shows beside the function.
        let function = functions ? frame.function : nil
        let name = frame.language == nil ? frame.symbol : function ?? frame.symbol
        optional("function", name, LineLimits.maximumSymbolBytes)
        if frame.language == nil { optional("raw_function", function, LineLimits.maximumSymbolBytes) }
        if frame.inlined != true, frame.symbol != nil, let offset = frame.symbolOffset, offset <= frame.pc {
            field("symbol_addr", hex: frame.pc - offset)
        }
        optional("package", frame.module, StringCaps.path, keepingEnd: true)
        optional("filename", frame.file, StringCaps.path, keepingEnd: true)
        if let line = frame.line, line > 0 { field("lineno", Int64(line)) }
        if let inApp = frame.inApp { field("in_app", inApp) }
        endObject()
    }

    fileprivate mutating func write(_ image: SentryImage) {
        beginObject()
        field("type", "elf")
        field("code_id", image.buildID, StringCaps.buildID)
        field("debug_id", image.debugID, StringCaps.buildID)
        optional("code_file", image.file, StringCaps.path, keepingEnd: true)
        field("image_addr", hex: image.address)
        endObject()
    }
}
