internal import LagModel
internal import LagReader

/// The JSON Schema (2020-12) of every line, generated from ``FieldTable``.
enum StallSchema {
    /// The document, with a newline at its end.
    static var text: String { document.text + "\n" }

    private static let document = SchemaNode.object([
        ("$schema", "https://json-schema.org/draft/2020-12/schema"),
        ("$id", "urn:lagmonitor:schema:\(StallRecord.schema)"),
        ("title", .text("\(StallRecord.schema)")),
        (
            "description",
            """
            One line that LagMonitor writes. A stall is one line (phase end), or a begin line and an end line with the same id; lines of \
            other events report stalls that have no line of their own. Later versions add members: a reader must accept unknown ones.
            """
        ),
        ("type", "object"),
        ("required", names { $0.required == .all }),
        ("properties", .object(FieldTable.all.map { ("\($0.name)", described("\($0.documentation)", content($0.content))) })),
        ("allOf", .array(LineEvent.allCases.map(condition) + [.object([(isEvent(.suppressed)), ("then", eitherFingerprint)])])),
        ("$defs", .object(definitions)),
    ])

    private static func names(_ isIncluded: (FieldDefinition) -> Bool) -> SchemaNode {
        .array(FieldTable.all.filter(isIncluded).map { .text("\($0.name)") })
    }

    /// The fields that lines of this event require in addition to those of all lines.
    private static func condition(_ event: LineEvent) -> SchemaNode {
        let required = names { $0.required != .all && $0.required.contains(FieldDefinition.Events(event)) }
        return .object([isEvent(event), ("then", .object([("required", required)]))])
    }

    private static func isEvent(_ event: LineEvent) -> (String, SchemaNode) {
        let constant = SchemaNode.object([("const", .text(event.rawValue))])
        return ("if", .object([("properties", .object([("event", constant)])), ("required", .array(["event"]))]))
    }

    private static let eitherFingerprint = SchemaNode.object([
        (
            "anyOf",
            .array([StallField.fingerprint, .fingerprints].map { .object([("required", .array([.text($0.name)]))]) })
        )
    ])

    private static func described(_ description: String, _ content: [(String, SchemaNode)]) -> SchemaNode {
        .object([("description", .text(description))] + content)
    }

    private static func content(_ content: FieldContent) -> [(String, SchemaNode)] {
        switch content {
        case .schema: [("const", .text("\(StallRecord.schema)"))]
        // Later versions may add events.
        case .event: [("type", "string"), ("examples", words(LineEvent.allCases.map(\.rawValue)))]
        case .oneOf(let allowed), .word(let allowed): [("enum", words(allowed))]
        case .text, .path, .stackHash: [("type", "string")]
        case .time: reference("time")
        case .stallID:
            [("type", "string"), ("pattern", "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")]
        case .fingerprint: [("type", "string"), ("examples", .array(["v1:6648237ade8e460d"]))]
        case .traceID: [("type", "string"), ("pattern", "^[0-9a-f]{32}$")]
        case .bootID: [("type", "string"), ("pattern", "^[0-9a-f]{32}$")]
        case .address: reference("address")
        case .milliseconds: reference("milliseconds")
        case .seconds: [("type", "number"), ("minimum", 0)]
        case .share: reference("share")
        case .count: reference("count")
        case .int32: reference("int32")
        case .taskID: reference("task_id")
        case .integer: [("type", "integer")]
        case .flag: [("type", "boolean")]
        case .kinds: array(of: reference("rule"), minItems: 1)
        case .texts: array(of: [("type", "string")])
        case .labels:
            [
                ("type", "object"), ("propertyNames", .object([("pattern", "^[A-Za-z][A-Za-z0-9_-]{0,31}$")])),
                ("additionalProperties", .object([("type", "string")])),
            ]
        case .frames: array(of: reference("frame"))
        case .thread: reference("thread")
        case .threads: array(of: reference("thread"), minItems: 1)
        case .threadIDs: array(of: reference("task_id"), minItems: 1)
        case .workers: array(of: reference("worker_group"), minItems: 1)
        case .request: reference("request")
        case .requests: array(of: reference("request"), minItems: 1)
        case .task: reference("task")
        case .attributes: [("type", "object"), ("additionalProperties", .object([("type", "string")]))]
        case .sampleTree: array(of: reference("sample_node"), minItems: 1)
        }
    }

    private static func reference(_ name: String) -> [(String, SchemaNode)] { [("$ref", .text("#/$defs/\(name)"))] }
    private static func words(_ words: [String]) -> SchemaNode { .array(words.map { .text($0) }) }

    private static func array(of items: [(String, SchemaNode)], minItems: Int? = nil) -> [(String, SchemaNode)] {
        [("type", "array"), ("items", .object(items))] + (minItems.map { [("minItems", .number($0))] } ?? [])
    }

    private static let definitions: [(String, SchemaNode)] = [
        (
            "time",
            .object([
                ("type", "string"), ("description", "RFC 3339, UTC, nanoseconds."),
                ("pattern", #"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{9}Z$"#),
            ])
        ),
        ("milliseconds", .object([("type", "number"), ("minimum", 0)])),
        ("share", .object([("type", "number"), ("minimum", 0), ("maximum", 1)])),
        ("count", .object([("type", "integer"), ("minimum", 0)])),
        ("int32", .object([("type", "integer"), ("minimum", -2_147_483_648), ("maximum", 2_147_483_647)])),
        ("task_id", .object([("type", "integer"), ("minimum", 0), ("maximum", 2_147_483_647)])),
        ("address", .object([("type", "string"), ("pattern", "^0x[0-9a-f]{1,16}$")])),
        ("rule", .object([("enum", words(StallRecord.Kind.allCases.map(\.rawValue)))])),
        ("frame", object("One call of a stack.", NestedField.frame)),
        ("thread", object("Another thread: one that holds a lock.", NestedField.thread)),
        ("request", object("The work that the program reported.", NestedField.request)),
        ("task", object("A task of Swift, or of asyncio in CPython.", NestedField.task)),
        ("worker_group", object("Threads of a pool that had the same stack.", NestedField.workerGroup)),
        ("sample_node", object("A run of calls that every sample below shares.", NestedField.sampleNode)),
    ]

    private static func object(_ description: String, _ members: [NestedField]) -> SchemaNode {
        .object([
            ("type", "object"), ("description", .text(description)),
            ("required", words(members.filter(\.isRequired).map { "\($0.name)" })),
            ("properties", .object(members.map { ("\($0.name)", described("\($0.documentation)", content($0.content))) })),
        ])
    }
}
