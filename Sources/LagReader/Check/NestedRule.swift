/// What a member of an object within a line may hold: the schema's tables of frames, threads and samples.
struct NestedRule: Sendable {
    let name: String
    let content: FieldRule.Content
    let isRequired: Bool

    private init(_ name: String, _ content: FieldRule.Content, isRequired: Bool = false) {
        self.name = name
        self.content = content
        self.isRequired = isRequired
    }

    static let frame = [
        NestedRule("pc", .address, isRequired: true), NestedRule("module", .text), NestedRule("build_id", .text),
        NestedRule("offset", .address), NestedRule("symbol", .text), NestedRule("function", .text),
        NestedRule("symbol_offset", .count), NestedRule("file", .text), NestedRule("line", .integer),
        NestedRule("inlined", .flag), NestedRule("in_app", .flag),
    ]

    static let thread = [
        NestedRule("thread_id", .integer, isRequired: true), NestedRule("thread_name", .text), NestedRule("waits_for", .address),
        NestedRule("frames", .frames),
    ]

    static let workerGroup = [
        NestedRule("thread_ids", .threadIDs, isRequired: true), NestedRule("frames", .frames),
    ]

    static let sampleNode = [
        NestedRule("ms", .decimal, isRequired: true), NestedRule("samples", .count, isRequired: true),
        NestedRule("frames_total", .count), NestedRule("frames", .texts, isRequired: true),
        NestedRule("children", .sampleTree), NestedRule("pruned_ms", .decimal),
    ]
}
