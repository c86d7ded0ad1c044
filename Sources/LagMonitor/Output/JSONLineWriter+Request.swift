/// What the stalled thread was working on.
extension JSONLineWriter {
    /// The limit for each object of attributes; a context has no space for more.
    private static let attributes = 16
    /// The limit for other open contexts.
    private static let requests = 8
    private static let awaiters = 3

    package mutating func write(_ requests: [StallRecord.Request], maxBytes: Int) {
        beginArray()
        for request in requests.prefix(Self.requests) { write(request, maxBytes: maxBytes) }
        endArray()
    }

    /// - Parameters:
    ///   - maxBytes: the limit of each of its texts.
    ///   - withAttributes: false for a line that is short of space: it contains only the name.
    package mutating func write(_ request: StallRecord.Request, maxBytes: Int, withAttributes: Bool = true) {
        beginObject()
        field("name", request.name, maxBytes)
        key("running")
        value(request.running)
        if let open = request.openNanoseconds {
            key("open_ms")
            value(millisecondsOf: open)
        }
        if withAttributes, !request.attributes.isEmpty {
            key("attributes")
            write(request.attributes, maxBytes: maxBytes)
        }
        endObject()
    }

    package mutating func write(_ attributes: [StallRecord.Request.Attribute], maxBytes: Int) {
        beginObject()
        for attribute in attributes.prefix(Self.attributes) {
            key(text: attribute.name, maxBytes: maxBytes)
            value(attribute.value, maxBytes: maxBytes)
        }
        endObject()
    }

    package mutating func write(_ task: StallRecord.RunningTask, maxBytes: Int) {
        beginObject()
        field("id", task.id)
        optional("name", task.name, maxBytes)
        if let priority = task.priority { field("priority", priority) }
        if !task.awaitedBy.isEmpty {
            key("awaited_by")
            write(.texts(Array(task.awaitedBy.prefix(Self.awaiters))), maxBytes: maxBytes)
        }
        endObject()
    }
}
