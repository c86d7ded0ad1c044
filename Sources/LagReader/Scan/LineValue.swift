package import LagModel

/// A value in a line with already checked grammar. Reading it as the wrong type gives nil.
package struct LineValue {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let span: JSONCursor.Span

    /// - Parameter line: the text that the span refers to; it must stay valid.
    package init(_ line: UnsafeRawBufferPointer, _ span: JSONCursor.Span) {
        bytes = UnsafeBufferPointer(rebasing: line.bindMemory(to: UInt8.self)[span.offset..<span.offset + span.count])
        self.span = span
    }

    package var text: String? { span.kind == .string ? JSONString.text(bytes, hasEscapes: span.hasEscapes) : nil }
    package var count: UInt64? { span.kind == .number ? JSONNumber.count(bytes) : nil }
    /// A number of milliseconds, in nanoseconds.
    package var milliseconds: UInt64? { span.kind == .number ? JSONNumber.nanoseconds(ofMilliseconds: bytes) : nil }
    package var number: Double? { span.kind == .number ? JSONNumber.double(bytes) : nil }
    package var flag: Bool? { span.kind == .boolean ? bytes.first == UInt8(ascii: "t") : nil }

    /// A whole number, possibly negative.
    var integer: Int64? {
        guard span.kind == .number else { return nil }
        return Int64(String(decoding: bytes, as: UTF8.self))
    }

    package var threadID: Int32? { integer.flatMap(Int32.init(exactly:)) }

    /// `0x` and hex digits.
    var address: UInt64? { text.flatMap { Hexadecimal.address($0) } }

    /// An array's elements, converted by `read`; elements of another type are omitted.
    package func elements<Element>(_ read: (LineValue) -> Element?) -> [Element] {
        guard span.kind == .array else { return [] }
        let text = UnsafeRawBufferPointer(bytes)
        var elements: [Element] = []
        var cursor = JSONCursor(text)
        _ = cursor.elements { cursor in
            guard let span = cursor.value() else { return false }
            if let element = read(LineValue(text, span)) { elements.append(element) }
            return true
        }
        return elements
    }

    /// Iterates over an object's members; false if it is not an object.
    @discardableResult
    func members(_ take: (String, LineValue) -> Void) -> Bool {
        guard span.kind == .object else { return false }
        let text = UnsafeRawBufferPointer(bytes)
        var cursor = JSONCursor(text)
        return cursor.members { cursor, name, hasEscapes in
            let name = JSONString.text(name, hasEscapes: hasEscapes)
            guard let span = cursor.value() else { return false }
            take(name, LineValue(text, span))
            return true
        }
    }
}

extension LineValue {
    /// The value for a field with this content; nil for a value of another type.
    package func fieldValue(_ content: FieldContent) -> FieldValue? {
        switch content {
        case .schema, .event, .oneOf, .word, .text, .path, .fingerprint, .stackHash, .bootID, .traceID: text.map { .text($0) }
        case .time: text.flatMap { UTCTime.nanoseconds($0) }.map { .time($0) }
        case .stallID: text.flatMap { StallID($0) }.map { .id($0) }
        case .address: address.map { .address($0) }
        case .milliseconds: milliseconds.map { .milliseconds($0) }
        case .seconds: milliseconds.map { .seconds($0.saturatingProduct(1000)) }
        case .share: number.map { .share($0) }
        case .count: count.map { .count($0) }
        case .int32, .taskID, .integer: integer.map { .integer($0) }
        case .flag: flag.map { .flag($0) }
        case .kinds, .texts: span.kind == .array ? .texts(elements(\.text)) : nil
        case .frames: .frames(frames)
        case .thread: lockOwner.map { .thread($0) }
        case .threads: .threads(elements(\.lockOwner))
        case .workers: .workers(elements(\.workerGroup))
        case .request: request.map { .request($0) }
        case .requests: .requests(elements(\.request))
        case .attributes: .attributes(attributes)
        case .task: runningTask.map { .task($0) }
        // The labels belong to the context.
        case .threadIDs, .sampleTree, .labels: nil
        }
    }

    package var frame: StallRecord.Frame? {
        var frame = StallRecord.Frame(pc: 0)
        let isObject = members { name, value in
            guard let member = FrameMember.named(name), let content = value.fieldValue(member.content) else { return }
            member.store(&frame, content)
        }
        return isObject ? frame : nil
    }

    var frames: [StallRecord.Frame] { elements(\.frame) }

    var lockOwner: StallRecord.LockOwner? {
        var owner: StallRecord.LockOwner?
        members { name, value in if name == "thread_id", let id = value.threadID { owner = StallRecord.LockOwner(threadID: id) } }
        members { name, value in
            switch name {
            case "thread_name": owner?.threadName = value.text
            case "waits_for": owner?.waitsFor = value.address
            case "frames": owner?.frames = value.frames
            default: break
            }
        }
        return owner
    }

    var request: StallRecord.Request? {
        var request = StallRecord.Request(name: "", running: false)
        let isObject = members { name, value in
            switch name {
            case "name": request.name = value.text ?? ""
            case "running": request.running = value.flag ?? false
            case "open_ms": request.openNanoseconds = value.milliseconds
            case "attributes": request.attributes = value.attributes
            default: break
            }
        }
        return isObject ? request : nil
    }

    var attributes: [StallRecord.Request.Attribute] {
        var attributes: [StallRecord.Request.Attribute] = []
        members { name, value in if let text = value.text { attributes.append(.init(name: name, value: text)) } }
        return attributes
    }

    var runningTask: StallRecord.RunningTask? {
        var task = StallRecord.RunningTask(id: 0)
        let isObject = members { name, value in
            switch name {
            case "id": task.id = value.count ?? 0
            case "name": task.name = value.text
            case "priority": task.priority = value.count
            case "awaited_by": task.awaitedBy = value.elements(\.text)
            default: break
            }
        }
        return isObject ? task : nil
    }

    var workerGroup: StallRecord.WorkerGroup? {
        var group = StallRecord.WorkerGroup(threadIDs: [])
        members { name, value in
            switch name {
            case "thread_ids": group.threadIDs = value.elements(\.threadID)
            case "frames": group.frames = value.frames
            default: break
            }
        }
        return group.threadIDs.isEmpty ? nil : group
    }
}
