/// Everything that is known of a field of the record. Each is declared once, in ``FieldTable``; writer, reader, `check`, JSON Schema, log
/// metadata and documentation follow from that.
package struct FieldDefinition: Sendable {
    package let field: StallField
    /// The member's name in the line. It needs no escaping.
    package let name: StaticString
    package let content: FieldContent
    /// Lines that always have it.
    package let required: Events
    package let cap: TextCap
    /// When it is left out of a line that is too long; a line of ``required`` keeps it in the native format even then.
    package let priority: FieldPriority
    package let formats: Formats
    /// OpenTelemetry's name of a field that says where the process runs: in OTLP it is an attribute of the resource. Nil: it is another field.
    package let resourceAttribute: StaticString?
    package let access: FieldAccess
    /// One sentence, for the schema and the documents.
    package let documentation: StaticString

    init(
        _ field: StallField,
        _ name: StaticString,
        _ content: FieldContent,
        required: Events = [],
        cap: TextCap = .word,
        keep priority: FieldPriority = .optional,
        in formats: Formats = [.fields, .metadata],
        resource resourceAttribute: StaticString? = nil,
        value access: FieldAccess,
        _ documentation: StaticString
    ) {
        self.field = field
        self.name = name
        self.content = content
        self.required = required
        self.cap = cap
        self.priority = priority
        self.formats = formats
        self.resourceAttribute = resourceAttribute
        self.access = access
        self.documentation = documentation
    }

    /// Some of the events.
    package struct Events: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }
        package init(_ event: LineEvent) {
            rawValue =
                switch event {
                case .stall: 1
                case .dropped: 2
                case .suppressed: 4
                case .recurring: 8
                }
        }

        package static let stall = Events(.stall)
        package static let dropped = Events(.dropped)
        package static let suppressed = Events(.suppressed)
        package static let recurring = Events(.recurring)
        package static let all: Events = [.stall, .dropped, .suppressed, .recurring]
    }

    /// Formats, other than the native one, that take the field from the table.
    package struct Formats: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The list of native fields in ECS, OTLP and Sentry. These have a place of their own for what is not in it.
        package static let fields = Formats(rawValue: 1)
        /// The metadata of swift-log.
        package static let metadata = Formats(rawValue: 2)
    }

    /// What a stall's record has in it; nil: the line does not have the field.
    package func value(of record: StallRecord, _ context: ProcessContext) -> FieldValue? {
        if let read = access.ofStall { read(record) } else { access.ofContext?(context) }
    }

    package func value(of notice: Notice, _ context: ProcessContext) -> FieldValue? {
        if let read = access.ofNotice { read(notice) } else { access.ofContext?(context) }
    }

    /// Whether a line keeps it that has room for fields of this priority.
    package func isKept(at priority: FieldPriority, in event: LineEvent) -> Bool {
        self.priority <= priority || required.contains(Events(event))
    }
}

/// When a field is left out of a line that is too long, the last first.
package enum FieldPriority: Comparable, Sendable {
    /// Never.
    case always
    /// Why it stalled, and who is to blame.
    case essential
    case optional
}

/// Which limit a field's text has; how many bytes that is depends on how much room there is in the line.
package enum TextCap: Sendable {
    case message, name, host, hash, word, reason, symbol
    /// Text of a fixed length of at most 32 bytes: never cut.
    case fixed
}
