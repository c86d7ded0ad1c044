extension JSONLineWriter {
    /// The end of the frames, and ``writeTail()``: `]}` and the newline.
    static var tailBytes: Int { 3 }

    /// Everything up to the first frame, in the order of the table.
    /// - Parameter maxLineBytes: a longer line will not be used: frames of owners beyond that are left out.
    mutating func writeHead(
        of record: StallRecord,
        context: ProcessContext,
        caps: StringCaps,
        ownerFrames: Int,
        maxLineBytes: Int
    ) {
        let owners = OwnerLimits(frames: ownerFrames, maxLineBytes: maxLineBytes)
        beginObject()
        for field in FieldTable.stall where field.isKept(at: caps.priority, in: .stall) {
            // The rest of the line fills the remaining space.
            if field.field == .frames { break }
            guard let value = field.value(of: record, context) else { continue }
            key(field.name)
            write(value, of: field, caps, owners)
        }
        key("frames")
        beginArray()
    }

    /// The frames from the leaf on, as many as leave space for the tail. Returns their number.
    mutating func writeFrames(of record: borrowing StallRecord, withFunctions: Bool, maxLineBytes: Int) -> Int {
        for index in 0..<record.frames.count {
            let place = mark
            write(record.frames[index], withOptional: withFunctions)
            if count + Self.tailBytes > maxLineBytes {
                rollBack(to: place)
                return index
            }
        }
        return record.frames.count
    }

    mutating func writeTail() {
        endObject()
        endLine()
    }

    mutating func write(_ notice: Notice, context: ProcessContext, caps: StringCaps) {
        let event = notice.event
        beginObject()
        for field in FieldTable.notice where field.isKept(at: caps.priority, in: event) {
            guard let value = field.value(of: notice, context) else { continue }
            key(field.name)
            write(value, maxBytes: caps[field.cap])
        }
        writeTail()
    }

    /// How much is written of threads that hold locks.
    private struct OwnerLimits {
        let frames: Int
        let maxLineBytes: Int
    }

    private mutating func write(_ value: FieldValue, of field: FieldDefinition, _ caps: StringCaps, _ owners: OwnerLimits) {
        switch value {
        case .thread(let thread): write(thread, caps: caps, owners)
        case .threads(let threads):
            beginArray()
            for thread in threads { write(thread, caps: caps, owners) }
            endArray()
        case .workers(let workers): write(workers, owners)
        case .request(let request): write(request, maxBytes: caps[field.cap], withAttributes: caps.keepsOptional)
        case .requests(let requests): write(requests, maxBytes: caps[field.cap])
        case .attributes(let attributes): write(attributes, maxBytes: caps[field.cap])
        case .task(let task): write(task, maxBytes: caps[field.cap])
        case .text(let text):
            if case .path = field.content {
                self.value(text, maxBytes: caps[field.cap], keepingEnd: true)
            } else {
                self.value(text, maxBytes: caps[field.cap])
            }
        default: write(value, maxBytes: caps[field.cap])
        }
    }

    /// A value that is neither an object nor an array of objects.
    package mutating func write(_ value: FieldValue, maxBytes: Int) {
        switch value {
        case .text(let text): self.value(text, maxBytes: maxBytes)
        case .texts(let texts):
            beginArray()
            for text in texts { self.value(text, maxBytes: maxBytes) }
            endArray()
        case .labels(let labels): self.value(labels)
        case .id(let id): self.value(id)
        case .count(let number): self.value(number)
        case .integer(let number): self.value(number)
        case .milliseconds, .seconds, .share: self.value(thousandths: value.thousandths ?? 0)
        case .time(let nanoseconds): self.value { UTCTime.append(nanosecondsSince1970: nanoseconds, to: &$0) }
        case .address(let address): self.value(hex: address)
        case .flag(let flag): self.value(flag)
        // The format itself writes these. A table field that gets here is a mistake, but the line stays valid.
        case .thread, .threads, .workers, .frames, .sampleTree, .request, .requests, .task, .attributes: self.value("")
        }
    }

    private mutating func write(_ owner: StallRecord.LockOwner, caps: StringCaps, _ owners: OwnerLimits) {
        beginObject()
        field("thread_id", Int64(owner.threadID))
        optional("thread_name", owner.threadName, caps.name)
        if let address = owner.waitsFor { field("waits_for", hex: address) }
        write(framesOf: owner.frames, owners)
        endObject()
    }

    private mutating func write(_ workers: [StallRecord.WorkerGroup], _ limits: OwnerLimits) {
        beginArray()
        for group in workers where count <= limits.maxLineBytes {
            beginObject()
            key("thread_ids")
            beginArray()
            for tid in group.threadIDs { value(Int64(tid)) }
            endArray()
            write(framesOf: group.frames, limits)
            endObject()
        }
        endArray()
    }

    /// The first frames of a thread other than the stalled one, and the innermost frames of its own code.
    private mutating func write(framesOf frames: [StallRecord.Frame], _ limits: OwnerLimits) {
        guard limits.frames > 0, !frames.isEmpty else { return }
        key("frames")
        beginArray()
        for frame in frames.shown(limits.frames) where count <= limits.maxLineBytes { write(frame, withOptional: false) }
        endArray()
    }

    private mutating func write(_ frame: StallRecord.Frame, withOptional: Bool) {
        beginObject()
        for member in FrameMember.all where withOptional || member.priority != .optional {
            guard let value = member.value(frame) else { continue }
            key(member.name)
            if case .text(let path) = value, case .path = member.content {
                self.value(path, maxBytes: StringCaps.path, keepingEnd: true)
            } else {
                write(value, maxBytes: StringCaps.widest[member.cap])
            }
        }
        endObject()
    }

    package mutating func field(_ name: StaticString, _ text: StaticString) {
        key(name)
        value(text)
    }

    package mutating func field(_ name: StaticString, _ text: String, _ maxBytes: Int, keepingEnd: Bool = false) {
        key(name)
        value(text, maxBytes: maxBytes, keepingEnd: keepingEnd)
    }

    package mutating func field(_ name: StaticString, _ number: UInt64) {
        key(name)
        value(number)
    }

    package mutating func field(_ name: StaticString, _ number: Int64) {
        key(name)
        value(number)
    }

    package mutating func field(_ name: StaticString, _ flag: Bool) {
        key(name)
        value(flag)
    }

    package mutating func field(_ name: StaticString, hex number: UInt64) {
        key(name)
        value(hex: number)
    }

    package mutating func field(_ name: StaticString, millisecondsOf nanoseconds: UInt64) {
        key(name)
        value(millisecondsOf: nanoseconds)
    }

    package mutating func optional(_ name: StaticString, _ text: String?, _ maxBytes: Int, keepingEnd: Bool = false) {
        if let text { field(name, text, maxBytes, keepingEnd: keepingEnd) }
    }
}
