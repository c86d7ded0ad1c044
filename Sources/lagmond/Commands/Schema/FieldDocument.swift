internal import LagModel
internal import LagReader

/// The table of fields as Markdown, with its introduction, generated from ``FieldTable``.
enum FieldDocument {
    static var markdown: String {
        let introduction = """
            In the order of a line, except that `late` is inserted at the end of the finished line. *always in* has the events \
            whose lines always have the member. If the meaning of a member begins with `dropped`, `suppressed` or `recurring`, \
            only lines of that event have it. The objects in `requests_open` have the members of `request`, those in `lock_cycle` \
            and `lock_chain` the members of `lock_owner`.


            """
        let header = "| field | type | unit | always in | meaning |\n|---|---|---|---|---|\n"
        let fields = FieldTable.all.map {
            row("\($0.name)", $0.content, alwaysIn: events($0.required), "\($0.documentation)")
        }
        let nested = [
            ("request", NestedField.request), ("task", NestedField.task), ("lock_owner", NestedField.thread),
            ("workers[]", NestedField.workerGroup), ("frames[]", NestedField.frame), ("sample_tree[]", NestedField.sampleNode),
        ].flatMap { place, members in
            members.map {
                row("\(place).\($0.name)", $0.content, alwaysIn: $0.isRequired ? "its object" : "", "\($0.documentation)")
            }
        }
        return introduction + header + (fields + nested).joined()
    }

    private static func row(_ name: String, _ content: FieldContent, alwaysIn: String, _ meaning: String) -> String {
        "| `\(name)` | \(type(content)) | \(unit(content)) | \(alwaysIn) | \(meaning) |\n"
    }

    private static func events(_ required: FieldDefinition.Events) -> String {
        if required == .all { return "every line" }
        return LineEvent.allCases.filter { required.contains(FieldDefinition.Events($0)) }.map(\.rawValue).joined(separator: ", ")
    }

    private static func unit(_ content: FieldContent) -> String {
        switch content {
        case .milliseconds: "ms"
        case .seconds: "s"
        case .share: "0…1"
        default: ""
        }
    }

    private static func type(_ content: FieldContent) -> String {
        switch content {
        case .schema: "`\(StallRecord.schema)`"
        case .event: LineEvent.allCases.map { "`\($0.rawValue)`" }.joined(separator: " ")
        case .oneOf(let words), .word(let words): words.map { "`\($0)`" }.joined(separator: " ")
        case .text, .path: "string"
        case .time: "RFC 3339, UTC, nine fractional digits"
        case .stallID: "UUID version 7"
        case .fingerprint: "`v1:` and 16 hex digits"
        case .stackHash: "16 hex digits"
        case .traceID: "32 hex digits"
        case .bootID: "32 hex digits"
        case .address: "hex string"
        case .milliseconds, .seconds, .share: "number"
        case .count, .int32, .taskID, .integer: "integer"
        case .flag: "boolean"
        case .kinds: "rules"
        case .texts: "strings"
        case .labels: "object of strings"
        case .frames: "frames"
        case .thread: "thread"
        case .threads: "threads"
        case .threadIDs: "integers"
        case .workers: "groups of threads"
        case .request: "request"
        case .requests: "requests"
        case .task: "task"
        case .attributes: "object of strings"
        case .sampleTree: "samples"
        }
    }
}
