/// A member of a frame in a line. Each is declared once, in ``all``; the writer, the readers, `check`, the JSON Schema, log
/// metadata and documentation are derived from it.
///
/// To add one: an entry in ``all``, a stored property of ``StallRecord/Frame``, and the code that fills it.
package struct FrameMember: Sendable {
    /// It needs no escaping.
    package let name: StaticString
    package let content: FieldContent
    package let isRequired: Bool
    package let cap: TextCap
    /// If a line is too long, an optional member is left out of all its frames.
    package let priority: FieldPriority
    /// One sentence, for the schema and the documents.
    package let documentation: StaticString
    /// Nil: the line does not have it.
    package let value: @Sendable (StallRecord.Frame) -> FieldValue?
    /// A value of another type removes the member.
    package let store: @Sendable (inout StallRecord.Frame, FieldValue) -> Void

    /// In the order of the line.
    package static let all = [
        FrameMember(
            "pc",
            .address,
            isRequired: true,
            { .address($0.pc) },
            { $0.pc = $1.address ?? 0 },
            "Address in the process."
        ),
        text("module", as: .path, \.module, "The file that contains the address."),
        text("build_id", cap: .hash, \.buildID, "That file's build-id."),
        member("offset", .address, \.offset, FieldValue.address, \.address, "The address in the file, independent of loading."),
        text("symbol", \.symbol, "The function, simplified."),
        text("function", keep: .optional, \.function, "The function's full name, if that contains more."),
        member("symbol_offset", .count, \.symbolOffset, FieldValue.count, \.count, "Bytes from the function's start."),
        text("file", as: .path, \.file, "Source file."),
        member("line", .integer, \.line, { .integer(Int64($0)) }, { $0.integer.flatMap(Int.init(exactly:)) }, "Line in it."),
        text(
            "language",
            cap: .fixed,
            \.language,
            "The language whose runtime knows the frame: `python`, `javascript`, `go`, `ruby`, …; absent: native code."
        ),
        member(
            "inlined",
            .flag,
            \.inlined,
            FieldValue.flag,
            \.flag,
            "No frame of its own: the function was inlined into the one of the next frame, or `tail_call` is set."
        ),
        member(
            "tail_call",
            .flag,
            \.tailCall,
            FieldValue.flag,
            \.flag,
            "Called by the function of the next frame, and left by a jump to the one before."
        ),
        member(
            "async",
            .flag,
            \.isAsync,
            FieldValue.flag,
            \.flag,
            "A suspended caller, not on any stack: it waits for the function before it."
        ),
        member("in_app", .flag, \.inApp, FieldValue.flag, \.flag, "The program's own code."),
        member(
            "skipped",
            .integer,
            \.skipped,
            { .integer(Int64($0)) },
            { $0.integer.flatMap(Int.init(exactly:)) },
            "This many frames between the one before and this one are left out: a recursion, and the culprit is further out."
        ),
    ]

    /// The member with that name; nil: it belongs to a later version.
    package static func named(_ name: String) -> FrameMember? { indices[name].map { all[$0] } }

    private static let indices = Dictionary(uniqueKeysWithValues: all.indices.map { ("\(all[$0].name)", $0) })

    private typealias Path<Value> = any WritableKeyPath<StallRecord.Frame, Value> & Sendable

    private static func text(
        _ name: StaticString,
        as content: FieldContent = .text,
        cap: TextCap = .symbol,
        keep priority: FieldPriority = .essential,
        _ path: Path<String?>,
        _ documentation: StaticString
    ) -> FrameMember { member(name, content, cap: cap, keep: priority, path, FieldValue.text, \.text, documentation) }

    private static func member<Value>(
        _ name: StaticString,
        _ content: FieldContent,
        cap: TextCap = .symbol,
        keep priority: FieldPriority = .essential,
        _ path: Path<Value?>,
        _ value: @escaping @Sendable (Value) -> FieldValue,
        _ read: @escaping @Sendable (FieldValue) -> Value?,
        _ documentation: StaticString
    ) -> FrameMember {
        FrameMember(
            name,
            content,
            cap: cap,
            keep: priority,
            { $0[keyPath: path].map(value) },
            { $0[keyPath: path] = read($1) },
            documentation
        )
    }

    private init(
        _ name: StaticString,
        _ content: FieldContent,
        isRequired: Bool = false,
        cap: TextCap = .symbol,
        keep priority: FieldPriority = .essential,
        _ value: @escaping @Sendable (StallRecord.Frame) -> FieldValue?,
        _ store: @escaping @Sendable (inout StallRecord.Frame, FieldValue) -> Void,
        _ documentation: StaticString
    ) {
        self.name = name
        self.content = content
        self.isRequired = isRequired
        self.cap = cap
        self.priority = priority
        self.documentation = documentation
        self.value = value
        self.store = store
    }
}
