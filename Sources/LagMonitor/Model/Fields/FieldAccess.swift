/// The content of a field, how it is read from a record, a notice or the process, and how it is stored from a line.
///
/// A kind of field is a function that provides all of that: `.milliseconds(\.durationNanoseconds)`.
package struct FieldAccess: Sendable {
    package let content: FieldContent
    package private(set) var ofStall: (@Sendable (StallRecord) -> FieldValue?)?
    package private(set) var ofNotice: (@Sendable (Notice) -> FieldValue?)?
    package private(set) var ofContext: (@Sendable (ProcessContext) -> FieldValue?)?
    /// False for a value of another type, or a word that this version does not know.
    package private(set) var store: (@Sendable (inout StallRecord, FieldValue) -> Bool)?

    /// The same field, in notices as well.
    func andNotice(_ read: @escaping @Sendable (Notice) -> FieldValue?) -> FieldAccess {
        var both = self
        both.ofNotice = read
        return both
    }
}

// Fields of stalls: a property of the record, which is written and read back. An optional one that is nil is not in the line.
extension FieldAccess {
    typealias Path<Value> = any WritableKeyPath<StallRecord, Value> & Sendable
    typealias Word = CaseIterable & RawRepresentable<String> & Sendable

    static func text(_ path: Path<String>, as content: FieldContent = .text) -> FieldAccess {
        stored(content, path, FieldValue.text, \.text)
    }

    static func text(_ path: Path<String?>, as content: FieldContent = .text) -> FieldAccess {
        optional(content, path, FieldValue.text, \.text)
    }

    /// One of this version's words; later versions have the same.
    static func oneOf<Value: Word>(_ path: Path<Value>) -> FieldAccess {
        stored(.oneOf(words(Value.self)), path, { .text($0.rawValue) }, { $0.text.flatMap(Value.init) })
    }

    /// One of this version's words; later versions may add some.
    static func word<Value: Word>(_ path: Path<Value?>) -> FieldAccess {
        optional(.word(words(Value.self)), path, { .text($0.rawValue) }, { $0.text.flatMap(Value.init) })
    }

    /// In the line only if there are any.
    static func kinds(_ path: Path<[StallRecord.Kind]>) -> FieldAccess {
        list(.kinds, path, { .texts($0.map(\.rawValue)) }, { $0.texts?.compactMap(StallRecord.Kind.init) })
    }

    static func id(_ path: Path<StallID>) -> FieldAccess { stored(.stallID, path, FieldValue.id, \.id) }
    static func id(_ path: Path<StallID?>) -> FieldAccess { optional(.stallID, path, FieldValue.id, \.id) }

    static func count(_ path: Path<UInt64>) -> FieldAccess { stored(.count, path, FieldValue.count, \.count) }
    static func count(_ path: Path<UInt64?>) -> FieldAccess { optional(.count, path, FieldValue.count, \.count) }

    static func taskID(_ path: Path<Int32>) -> FieldAccess { stored(.taskID, path, FieldValue.int32, \.int32) }
    static func int32(_ path: Path<Int32?>) -> FieldAccess { optional(.int32, path, FieldValue.int32, \.int32) }

    /// Nanoseconds since 1970.
    static func time(_ path: Path<Int64>) -> FieldAccess { stored(.time, path, FieldValue.time, \.time) }

    /// Nanoseconds in the record.
    static func milliseconds(_ path: Path<UInt64>) -> FieldAccess {
        stored(.milliseconds, path, FieldValue.milliseconds, \.milliseconds)
    }

    /// Nanoseconds in the record.
    static func milliseconds(_ path: Path<UInt64?>) -> FieldAccess {
        optional(.milliseconds, path, FieldValue.milliseconds, \.milliseconds)
    }

    /// 0…1; not-a-number is not in the line.
    static func share(_ path: Path<Double?>) -> FieldAccess {
        optional(.share, path, { $0.isNaN ? nil : .share($0) }, \.share)
    }

    /// A flag that is in the line only if it is set.
    static func flag(_ path: Path<Bool>) -> FieldAccess { stored(.flag, path, { $0 ? .flag(true) : nil }, \.flag) }
    static func flag(_ path: Path<Bool?>) -> FieldAccess { optional(.flag, path, FieldValue.flag, \.flag) }

    static func address(_ path: Path<UInt64?>) -> FieldAccess { optional(.address, path, FieldValue.address, \.address) }

    static func thread(_ path: Path<StallRecord.LockOwner?>) -> FieldAccess {
        optional(.thread, path, FieldValue.thread, \.thread)
    }

    /// In the line only if there are any.
    static func threads(_ path: Path<[StallRecord.LockOwner]>) -> FieldAccess {
        list(.threads, path, FieldValue.threads, \.threads)
    }

    static func request(_ path: Path<StallRecord.Request?>) -> FieldAccess {
        optional(.request, path, FieldValue.request, \.request)
    }

    /// In the line only if there are any.
    static func requests(_ path: Path<[StallRecord.Request]>) -> FieldAccess {
        list(.requests, path, FieldValue.requests, \.requests)
    }

    static func task(_ path: Path<StallRecord.RunningTask?>) -> FieldAccess { optional(.task, path, FieldValue.task, \.task) }

    /// In the line only if there are any.
    static func attributes(_ path: Path<[StallRecord.Request.Attribute]>) -> FieldAccess {
        list(.attributes, path, FieldValue.attributes, \.attributes)
    }

    /// In the line only if there are any.
    static func workers(_ path: Path<[StallRecord.WorkerGroup]>) -> FieldAccess {
        list(.workers, path, FieldValue.workers, \.workers)
    }

    static func frames(_ path: Path<[StallRecord.Frame]>) -> FieldAccess { stored(.frames, path, FieldValue.frames, \.frames) }

    /// A field that is computed; if it is read back, by a separate function.
    static func stall(
        _ content: FieldContent,
        _ read: @escaping @Sendable (StallRecord) -> FieldValue?,
        store: (@Sendable (inout StallRecord, FieldValue) -> Bool)? = nil
    ) -> FieldAccess { FieldAccess(content: content, ofStall: read, store: store) }

    private static func stored<Value>(
        _ content: FieldContent,
        _ path: Path<Value>,
        _ value: @escaping @Sendable (Value) -> FieldValue?,
        _ property: @escaping @Sendable (FieldValue) -> Value?
    ) -> FieldAccess {
        stall(
            content,
            { value($0[keyPath: path]) },
            store: { record, value in
                guard let property = property(value) else { return false }
                record[keyPath: path] = property
                return true
            }
        )
    }

    private static func optional<Value>(
        _ content: FieldContent,
        _ path: Path<Value?>,
        _ value: @escaping @Sendable (Value) -> FieldValue?,
        _ property: @escaping @Sendable (FieldValue) -> Value?
    ) -> FieldAccess { stored(content, path, { $0.flatMap(value) }, { property($0).map { .some($0) } }) }

    private static func list<Element>(
        _ content: FieldContent,
        _ path: Path<[Element]>,
        _ value: @escaping @Sendable ([Element]) -> FieldValue,
        _ property: @escaping @Sendable (FieldValue) -> [Element]?
    ) -> FieldAccess { stored(content, path, { $0.isEmpty ? nil : value($0) }, property) }

    private static func words<Value: Word>(_ type: Value.Type) -> [String] { Value.allCases.map(\.rawValue) }
}

// Fields of notices. Nil: the notice is about something else.
extension FieldAccess {
    typealias NoticePath<Value> = any KeyPath<Notice, Value?> & Sendable

    static func notice(count path: NoticePath<UInt64>) -> FieldAccess { notice(.count, path, FieldValue.count) }
    /// Nanoseconds since 1970.
    static func notice(time path: NoticePath<Int64>) -> FieldAccess { notice(.time, path, FieldValue.time) }
    /// Nanoseconds in the notice.
    static func notice(seconds path: NoticePath<UInt64>) -> FieldAccess { notice(.seconds, path, FieldValue.seconds) }
    /// Nanoseconds in the notice.
    static func notice(milliseconds path: NoticePath<UInt64>) -> FieldAccess {
        notice(.milliseconds, path, FieldValue.milliseconds)
    }
    /// One of this version's words; later versions may add some.
    static func notice<Value: Word>(word path: NoticePath<Value>) -> FieldAccess {
        notice(.word(words(Value.self)), path) { .text($0.rawValue) }
    }

    private static func notice<Value>(
        _ content: FieldContent,
        _ path: NoticePath<Value>,
        _ value: @escaping @Sendable (Value) -> FieldValue
    ) -> FieldAccess { FieldAccess(content: content, ofNotice: { $0[keyPath: path].map(value) }) }
}

// Fields of the process: in every line.
extension FieldAccess {
    typealias ContextPath<Value> = any KeyPath<ProcessContext, Value> & Sendable

    static func context(text path: ContextPath<String>, as content: FieldContent = .text) -> FieldAccess {
        context(content) { .text($0[keyPath: path]) }
    }

    static func context(text path: ContextPath<String?>) -> FieldAccess {
        context(.text) { $0[keyPath: path].map(FieldValue.text) }
    }

    static func context(_ content: FieldContent, _ read: @escaping @Sendable (ProcessContext) -> FieldValue?) -> FieldAccess {
        FieldAccess(content: content, ofContext: read)
    }

    /// The same text in every line.
    static func constant(_ content: FieldContent, _ text: StaticString) -> FieldAccess {
        stall(content) { _ in .text("\(text)") }.andNotice { _ in .text("\(text)") }
    }
}
