internal import CLagBeacon
internal import LagCapture
internal import LagModel

/// What a thread was working on, as published by the program's OpenTelemetry SDK (OTEP 4947): trace, span and attributes.
///
/// The same code finds and copies it while the thread is stopped, and then reads it in the copy.
struct ThreadContextRecord {
    private enum Layout {
        static let headBytes = 28
        static let span = 16
        static let valid = 24
        static let attributeBytes = 26
        /// The standard recommends 640 bytes for the whole record.
        static let maximumAttributeBytes = 4096
    }

    private let trace: (high: UInt64, low: UInt64)
    private let span: UInt64
    private let attributes: UnsafeRawBufferPointer

    /// Nil if the thread has none, or if it is not such a record.
    init?(_ memory: MemoryCopy, _ place: ThreadLocalVariable.Place, threadPointer: UInt64) {
        guard let variable = place.address(threadPointer, { memory.load($0) }), let record: UInt64 = memory.load(variable),
            record != 0, record % 2 == 0, let head = memory.bytes(record, Layout.headBytes), head[Layout.valid] == 1
        else { return nil }
        func number(_ offset: Int) -> UInt64 { UInt64(bigEndian: head.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) }
        trace = (number(0), number(8))
        span = number(Layout.span)
        // Both or none.
        guard (trace.high | trace.low != 0) == (span != 0) else { return nil }
        let count = Int(UInt16(littleEndian: head.loadUnaligned(fromByteOffset: Layout.attributeBytes, as: UInt16.self)))
        guard count > 0 else {
            attributes = UnsafeRawBufferPointer(start: nil, count: 0)
            return
        }
        guard count <= Layout.maximumAttributeBytes, let bytes = memory.bytes(record &+ UInt64(Layout.headBytes), count) else {
            return nil
        }
        attributes = bytes
    }

    /// The attributes: for a duplicate index the last one counts; truncated ones are ignored. In the order of their last
    /// occurrence.
    func values() -> [(index: UInt8, value: UnsafeRawBufferPointer)] {
        var found: [(index: UInt8, value: UnsafeRawBufferPointer)] = []
        var at = 0
        while at + 2 <= attributes.count {
            let count = Int(attributes[at + 1])
            guard at + 2 + count <= attributes.count else { break }
            let index = attributes[at]
            found.removeAll { $0.index == index }
            found.append((index, UnsafeRawBufferPointer(rebasing: attributes[(at + 2)..<(at + 2 + count)])))
            at += 2 + count
        }
        return found
    }

    /// Converts it to a context of the program: its name comes from its attributes, and since when it is open is not known.
    /// - Parameters:
    ///   - keys: the attributes' names.
    ///   - rule: selects which are read; withheld ones are not copied anywhere.
    func write(to copy: UnsafeMutablePointer<clb_context_copy>, keys: [String], rule: PublishedAttributes) {
        var values: [(key: String, value: [UInt8], isRecorded: Bool)] = []
        for (index, value) in self.values() where Int(index) < keys.count && !keys[Int(index)].isEmpty {
            let key = keys[Int(index)]
            let use = rule.use(of: key)
            guard use != .withheld else { continue }
            values.append((key, PublishedAttributes.withoutSecrets(value, of: key), use == .recorded))
        }
        var draft = clb_context_draft()
        var name = RequestName.of(values.map { ($0.key, $0.value) })
        name?.withUTF8 { clb_draft_name(&draft, $0.baseAddress, $0.count) }
        // (A context of the program already has its name.)
        for (key, value, isRecorded) in values where isRecorded && key != StallRecord.Request.publishedKey {
            var key = key
            key.withUTF8 { key in
                value.withUnsafeBufferPointer { value in
                    clb_draft_attribute(&draft, key.baseAddress, key.count, value.baseAddress, value.count)
                }
            }
        }
        (draft.trace_high, draft.trace_low, draft.span) = (trace.high, trace.low, span)
        var hash = StableHash()
        for word in [trace.high, trace.low, span] { hash.combine(word: word) }
        if span == 0 { for byte in attributes { hash.combine(word: UInt64(byte)) } }
        clb_context_copy_draft(copy, hash.value | 1, &draft)
    }
}
