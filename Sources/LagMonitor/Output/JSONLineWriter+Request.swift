/// What the stalled thread was working at.
extension JSONLineWriter {
    /// - Parameter maxBytes: of each of its texts.
    package mutating func write(_ request: StallRecord.Request, maxBytes: Int) {
        beginObject()
        field("name", request.name, maxBytes)
        key("running")
        value(request.running)
        key("open_ms")
        value(millisecondsOf: request.openNanoseconds)
        if !request.attributes.isEmpty {
            key("attributes")
            write(request.attributes, maxBytes: maxBytes)
        }
        endObject()
    }

    package mutating func write(_ attributes: [StallRecord.Request.Attribute], maxBytes: Int) {
        beginObject()
        for attribute in attributes {
            key(label: attribute.name)
            value(attribute.value, maxBytes: maxBytes)
        }
        endObject()
    }

    package mutating func write(_ task: StallRecord.RunningTask, maxBytes: Int) {
        beginObject()
        field("id", task.id)
        optional("name", task.name, maxBytes)
        if let priority = task.priority { field("priority", priority) }
        endObject()
    }
}
