internal import LagOutput

/// One field of the native schema, for another format.
struct LineField {
    let definition: FieldDefinition
    let value: FieldValue
    let maxBytes: Int

    /// As in the native line: no escaping needed.
    var name: StaticString { definition.name }

    /// A text whose end is more important than its beginning.
    var keepsEnd: Bool { if case .path = definition.content { true } else { false } }

    /// A stall's fields for which formats have no place of their own, in the order of the native line.
    static func all(of record: StallRecord, _ caps: StringCaps, _ context: ProcessContext) -> [LineField] {
        FieldTable.stall.compactMap { field in
            guard field.formats.contains(.fields), field.priority <= caps.priority else { return nil }
            return field.value(of: record, context).map { LineField(definition: field, value: $0, maxBytes: caps[field.cap]) }
        }
    }

    /// The fields about where the process runs, with OpenTelemetry's names.
    static func resource(_ caps: StringCaps, _ context: ProcessContext) -> [(attribute: StaticString, field: LineField)] {
        FieldTable.surroundings.compactMap { field in
            guard let attribute = field.resourceAttribute, field.priority <= caps.priority,
                let value = field.access.ofContext?(context)
            else { return nil }
            return (attribute, LineField(definition: field, value: value, maxBytes: caps[field.cap]))
        }
    }

    /// The same for a notice; the fields that identify the stalls and their time come last.
    static func all(of notice: Notice, _ caps: StringCaps, _ context: ProcessContext) -> [LineField] {
        let fields = FieldTable.notice.filter {
            $0.formats.contains(.fields)
                && (caps.priority > .always || $0.priority == .always || $0.field == .droppedTotal)
        }
        return (fields.filter { !isLate($0.field) } + fields.filter { isLate($0.field) }).compactMap { field in
            // Their texts are short, and are the subject of the notice.
            let maxBytes = StringCaps.widest[field.cap]
            return field.value(of: notice, context).map { LineField(definition: field, value: $0, maxBytes: maxBytes) }
        }
    }

    private static func isLate(_ field: StallField) -> Bool { field == .culprit || field == .mono || field == .bootID }
}

extension JSONLineWriter {
    /// The field as a member of the present object, as in the native line.
    mutating func write(_ field: LineField) {
        key(field.name)
        if field.keepsEnd, case .text(let text) = field.value {
            value(text, maxBytes: field.maxBytes, keepingEnd: true)
        } else {
            write(field.value, maxBytes: field.maxBytes)
        }
    }
}
