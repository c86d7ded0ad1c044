/// What a line says of a frame. Each member is declared once, in ``all``; the writer, the readers, `check`, the JSON Schema, log metadata and
/// documentation follow from that.
///
/// To add one: an entry in ``all``, a stored property of ``StallRecord/Frame``, and the place that fills it.
package struct FrameMember: Sendable {
    /// It needs no escaping.
    package let name: StaticString
    package let content: FieldContent
    package let isRequired: Bool
    package let cap: TextCap
    /// An optional one is left out of all frames of a line that is too long.
    package let priority: FieldPriority
    /// One sentence, for the schema and the documents.
    package let documentation: StaticString
    /// Nil: the line does not have it.
    package let value: @Sendable (StallRecord.Frame) -> FieldValue?
    /// A value of another type changes nothing.
    package let store: @Sendable (inout StallRecord.Frame, FieldValue) -> Void

    /// In the order of the line.
    package static let all = [
        FrameMember(
            "pc",
            .address,
            isRequired: true,
            "The address in the process.",
            value: { .address($0.pc) },
            store: { if case .address(let address) = $1 { $0.pc = address } }
        ),
        text("module", as: .path, \.module, "The file the address lies in."),
        text("build_id", cap: .hash, \.buildID, "That file's build-id."),
        FrameMember(
            "offset",
            .address,
            "The address in the file, wherever it was loaded.",
            value: { $0.offset.map(FieldValue.address) },
            store: { if case .address(let address) = $1 { $0.offset = address } }
        ),
        text("symbol", \.symbol, "The function, simplified."),
        text("function", keep: .optional, \.function, "The function in full, where that says more."),
        FrameMember(
            "symbol_offset",
            .count,
            "Bytes from the function's start.",
            value: { $0.symbolOffset.map(FieldValue.count) },
            store: { if case .count(let count) = $1 { $0.symbolOffset = count } }
        ),
        text("file", as: .path, \.file, "Source file."),
        FrameMember(
            "line",
            .integer,
            "Line in it.",
            value: { $0.line.map { .integer(Int64($0)) } },
            store: { if case .integer(let number) = $1 { $0.line = Int(exactly: number) } }
        ),
        flag("inlined", \.inlined, "The function was inlined into the one of the next frame."),
        flag("in_app", \.inApp, "The program's own code."),
    ]

    /// The member of that name; nil: it is one of a later version.
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
    ) -> FrameMember {
        FrameMember(
            name,
            content,
            cap: cap,
            keep: priority,
            documentation,
            value: { $0[keyPath: path].map(FieldValue.text) },
            store: { if case .text(let text) = $1 { $0[keyPath: path] = text } }
        )
    }

    private static func flag(_ name: StaticString, _ path: Path<Bool?>, _ documentation: StaticString) -> FrameMember {
        FrameMember(
            name,
            .flag,
            documentation,
            value: { $0[keyPath: path].map(FieldValue.flag) },
            store: { if case .flag(let flag) = $1 { $0[keyPath: path] = flag } }
        )
    }

    private init(
        _ name: StaticString,
        _ content: FieldContent,
        isRequired: Bool = false,
        cap: TextCap = .symbol,
        keep priority: FieldPriority = .essential,
        _ documentation: StaticString,
        value: @escaping @Sendable (StallRecord.Frame) -> FieldValue?,
        store: @escaping @Sendable (inout StallRecord.Frame, FieldValue) -> Void
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
