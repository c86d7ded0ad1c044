/// The definition of a field of the record. Each is declared once, in ``FieldTable``; writer, reader, `check`, JSON Schema, log
/// metadata and documentation are derived from it.
package struct FieldDefinition: Sendable {
    package let field: StallField
    /// The member's name in the line. It needs no escaping.
    package let name: StaticString
    package fileprivate(set) var access: FieldAccess
    /// Events whose lines always have it.
    package let required: Events
    package let cap: TextCap
    /// When it is left out of a line that is too long; in the native format, a line of ``required`` keeps it even then.
    package let priority: FieldPriority
    package let formats: Formats
    /// OpenTelemetry's name, for a field about where the process runs: in OTLP it is an attribute of the resource. Nil for other
    /// fields.
    package fileprivate(set) var resourceAttribute: StaticString?
    /// One sentence, for the schema and the documents.
    package fileprivate(set) var documentation: StaticString = ""

    package var content: FieldContent { access.content }

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
        /// Notices about several stalls.
        static let summaries: Events = [.suppressed, .recurring]
        /// All except ``dropped``, which is about lines.
        static let aboutStalls: Events = [.stall, .suppressed, .recurring]
    }

    /// Formats, other than the native one, that take the field from the table.
    package struct Formats: OptionSet, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The list of native fields in ECS, OTLP and Sentry. Fields that are not in it have their own place in these formats.
        package static let fields = Formats(rawValue: 1)
        /// The metadata of swift-log.
        package static let metadata = Formats(rawValue: 2)
    }

    /// The field's value in a stall's record; nil: the line does not have the field.
    package func value(of record: StallRecord, _ context: ProcessContext) -> FieldValue? {
        if let read = access.ofStall { read(record) } else { access.ofContext?(context) }
    }

    package func value(of notice: Notice, _ context: ProcessContext) -> FieldValue? {
        if let read = access.ofNotice { read(notice) } else { access.ofContext?(context) }
    }

    /// Whether a line with space for fields of this priority keeps it.
    package func isKept(at priority: FieldPriority, in event: LineEvent) -> Bool {
        self.priority <= priority || required.contains(Events(event))
    }
}

extension FieldDefinition {
    /// An entry of the table: what the field is; `means` must follow.
    /// - Parameters:
    ///   - access: its content, and the content's place in a record, a notice or the process.
    ///   - events: events whose lines always have it.
    ///   - cap: the limit of its texts.
    ///   - priority: when it is left out of a line that is too long.
    ///   - formats: those, besides the native one, that take it from the table.
    static func field(
        _ field: StallField,
        _ name: StaticString,
        _ access: FieldAccess,
        required events: Events = [],
        cap: TextCap = .word,
        keep priority: FieldPriority = .optional,
        in formats: Formats = [.fields, .metadata]
    ) -> Undocumented {
        Undocumented(
            definition: FieldDefinition(
                field: field,
                name: name,
                access: access,
                required: events,
                cap: cap,
                priority: priority,
                formats: formats
            )
        )
    }

    /// An entry without its sentence; the table accepts it only with one.
    struct Undocumented {
        fileprivate var definition: FieldDefinition

        /// The same field, in notices as well.
        func andNotice(_ read: @escaping @Sendable (Notice) -> FieldValue?) -> Undocumented {
            var both = self
            both.definition.access = definition.access.andNotice(read)
            return both
        }

        /// In OTLP it is an attribute of the resource, with that name.
        func resource(_ attribute: StaticString) -> Undocumented {
            var named = self
            named.definition.resourceAttribute = attribute
            return named
        }

        /// One sentence, for the schema and the documents.
        func means(_ documentation: StaticString) -> FieldDefinition {
            var whole = definition
            whole.documentation = documentation
            return whole
        }
    }
}

/// When a field is left out of a line that is too long; the last case is left out first.
package enum FieldPriority: Comparable, Sendable {
    /// Never.
    case always
    /// The cause of the stall, and the culprit.
    case essential
    case optional
}

/// The limit of a field's text; its number of bytes depends on the space in the line.
package enum TextCap: Sendable {
    case message, name, host, hash, word, reason, symbol
    /// Text of a fixed length of at most 32 bytes: never cut.
    case fixed
}
