/// A part of a JSON document that keeps the order of its members and is formatted for people: what fits is on one line.
indirect enum SchemaNode: ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral {
    case object([(String, SchemaNode)])
    case array([SchemaNode])
    case text(String)
    case number(Int)

    private static let columns = 120

    init(stringLiteral value: String) { self = .text(value) }
    init(integerLiteral value: Int) { self = .number(value) }

    var text: String { text(indent: "", used: 0) }

    private func text(indent: String, used: Int) -> String {
        let compact = compact
        if indent.count + used + compact.count < Self.columns { return compact }
        let inner = indent + "  "
        switch self {
        case .object(let members):
            let lines = members.map { name, value in
                let name = Self.quoted(name) + ": "
                return inner + name + value.text(indent: inner, used: name.count)
            }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        case .array(let elements):
            let lines = elements.map { inner + $0.text(indent: inner, used: 0) }
            return "[\n" + lines.joined(separator: ",\n") + "\n\(indent)]"
        case .text, .number: return compact
        }
    }

    private var compact: String {
        switch self {
        case .object(let members): "{" + members.map { "\(Self.quoted($0)): \($1.compact)" }.joined(separator: ", ") + "}"
        case .array(let elements): "[" + elements.map(\.compact).joined(separator: ", ") + "]"
        case .text(let text): Self.quoted(text)
        case .number(let number): "\(number)"
        }
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for character in text {
            if character == "\"" || character == "\\" { quoted.append("\\") }
            quoted.append(character)
        }
        return quoted + "\""
    }
}
