/// How a field is read from a record, a notice or the process, and how a record gets it back from a line.
package struct FieldAccess: Sendable {
    package private(set) var ofStall: (@Sendable (StallRecord) -> FieldValue?)?
    package private(set) var ofNotice: (@Sendable (Notice) -> FieldValue?)?
    package private(set) var ofContext: (@Sendable (ProcessContext) -> FieldValue?)?
    /// False for a value of another type, or a word that this version does not know.
    package private(set) var store: (@Sendable (inout StallRecord, FieldValue) -> Bool)?

    typealias Path<Value> = any WritableKeyPath<StallRecord, Value> & Sendable

    static func stall(_ read: @escaping @Sendable (StallRecord) -> FieldValue?) -> FieldAccess { FieldAccess(ofStall: read) }
    static func notice(_ read: @escaping @Sendable (Notice) -> FieldValue?) -> FieldAccess { FieldAccess(ofNotice: read) }
    static func context(_ read: @escaping @Sendable (ProcessContext) -> FieldValue?) -> FieldAccess {
        FieldAccess(ofContext: read)
    }

    /// The same field, in notices as well.
    func andNotice(_ read: @escaping @Sendable (Notice) -> FieldValue?) -> FieldAccess {
        var both = self
        both.ofNotice = read
        return both
    }

    /// A stall's field that is computed, and read back in a way of its own.
    static func stall(
        _ read: @escaping @Sendable (StallRecord) -> FieldValue?,
        store: @escaping @Sendable (inout StallRecord, FieldValue) -> Bool
    ) -> FieldAccess { FieldAccess(ofStall: read, store: store) }

    static func text(_ path: Path<String>) -> FieldAccess { stored(path, FieldValue.text, \.text) }
    static func text(_ path: Path<String?>) -> FieldAccess { optional(path, FieldValue.text, \.text) }

    static func word<Word: RawRepresentable & Sendable>(_ path: Path<Word>) -> FieldAccess where Word.RawValue == String {
        stored(path, { .text($0.rawValue) }, { $0.text.flatMap(Word.init) })
    }

    static func word<Word: RawRepresentable & Sendable>(_ path: Path<Word?>) -> FieldAccess where Word.RawValue == String {
        optional(path, { .text($0.rawValue) }, { $0.text.flatMap(Word.init) })
    }

    static func count(_ path: Path<UInt64>) -> FieldAccess { stored(path, FieldValue.count, \.count) }
    static func count(_ path: Path<UInt64?>) -> FieldAccess { optional(path, FieldValue.count, \.count) }

    static func int32(_ path: Path<Int32>) -> FieldAccess {
        stored(path, { .integer(Int64($0)) }, { $0.integer.flatMap(Int32.init(exactly:)) })
    }

    static func int32(_ path: Path<Int32?>) -> FieldAccess {
        optional(path, { .integer(Int64($0)) }, { $0.integer.flatMap(Int32.init(exactly:)) })
    }

    static func milliseconds(_ path: Path<UInt64>) -> FieldAccess { stored(path, FieldValue.milliseconds, \.milliseconds) }
    static func milliseconds(_ path: Path<UInt64?>) -> FieldAccess { optional(path, FieldValue.milliseconds, \.milliseconds) }

    static func share(_ path: Path<Double?>) -> FieldAccess {
        optional(path, { $0.isNaN ? nil : .share($0) }, { if case .share(let share) = $0 { share } else { nil } })
    }

    /// A flag that is in the line only when it is set.
    static func flag(_ path: Path<Bool>) -> FieldAccess { stored(path, { $0 ? .flag(true) : nil }, \.flag) }
    static func flag(_ path: Path<Bool?>) -> FieldAccess { optional(path, FieldValue.flag, \.flag) }

    static func address(_ path: Path<UInt64?>) -> FieldAccess { optional(path, FieldValue.address, \.address) }

    static func thread(_ path: Path<StallRecord.LockOwner?>) -> FieldAccess {
        optional(path, FieldValue.thread) { if case .thread(let thread) = $0 { thread } else { nil } }
    }

    /// In the line when there are any.
    static func threads(_ path: Path<[StallRecord.LockOwner]>) -> FieldAccess {
        stored(path, { $0.isEmpty ? nil : .threads($0) }, { if case .threads(let threads) = $0 { threads } else { nil } })
    }

    static func stored<Value>(
        _ path: Path<Value>,
        _ value: @escaping @Sendable (Value) -> FieldValue?,
        _ content: @escaping @Sendable (FieldValue) -> Value?
    ) -> FieldAccess {
        stall(
            { value($0[keyPath: path]) },
            store: { record, value in
                guard let content = content(value) else { return false }
                record[keyPath: path] = content
                return true
            }
        )
    }

    private static func optional<Value>(
        _ path: Path<Value?>,
        _ value: @escaping @Sendable (Value) -> FieldValue?,
        _ content: @escaping @Sendable (FieldValue) -> Value?
    ) -> FieldAccess { stored(path, { $0.flatMap(value) }, { content($0).map { .some($0) } }) }
}
