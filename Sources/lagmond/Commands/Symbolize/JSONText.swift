internal import LagReader

/// A JSON text (RFC 8259) with the positions of its parts, for edits that keep every other byte: the order of members,
/// spaces, and number formats.
struct JSONText {
    struct Value {
        /// The range in ``bytes``; a string includes its quotes.
        let range: Range<Int>
        let content: Content
    }

    enum Content {
        case object([Member])
        case array([Value])
        case string(hasEscapes: Bool)
        case number
        /// `true`, `false`, `null`.
        case word
    }

    struct Member {
        let name: String
        let value: Value
    }

    let bytes: [UInt8]
    let root: Value

    /// Parses `bytes`; spaces around the value are allowed. Strings are not checked for valid UTF-8.
    init(_ bytes: [UInt8]) throws(JSONCursor.Failure) {
        let result = bytes.withUnsafeBytes { text -> Result<Value, JSONCursor.Failure> in
            var cursor = JSONCursor(text)
            cursor.skipSpaces()
            if let value = Self.value(&cursor, depth: 0), cursor.isAtEndOfText() { return .success(value) }
            return .failure(cursor.failure ?? JSONCursor.Failure(reason: "expected a value", offset: cursor.offset))
        }
        root = try result.get()
        self.bytes = bytes
    }

    /// Parses the value at the cursor with its parts; nil after a failure.
    private static func value(_ cursor: inout JSONCursor, depth: Int) -> Value? {
        let start = cursor.offset
        let content: Content
        switch cursor.byte {
        // As deep as `skipValue` allows, which rejects deeper nesting.
        case UInt8(ascii: "{") where depth < JSONCursor.maximumDepth:
            var members: [Member] = []
            let isWhole = cursor.members { cursor, name, hasEscapes in
                let name = JSONString.text(name, hasEscapes: hasEscapes)
                guard let value = value(&cursor, depth: depth + 1) else { return false }
                members.append(Member(name: name, value: value))
                return true
            }
            guard isWhole else { return nil }
            content = .object(members)
        case UInt8(ascii: "[") where depth < JSONCursor.maximumDepth:
            var elements: [Value] = []
            let isWhole = cursor.elements { cursor in
                guard let value = value(&cursor, depth: depth + 1) else { return false }
                elements.append(value)
                return true
            }
            guard isWhole else { return nil }
            content = .array(elements)
        default:
            guard let span = cursor.value(depth: depth) else { return nil }
            content =
                switch span.kind {
                case .string: .string(hasEscapes: span.hasEscapes)
                case .number: .number
                case .object, .array, .boolean, .null: .word
                }
        }
        return Value(range: start..<cursor.offset, content: content)
    }

    /// The member of that name, the last one if there are several. Nil if `value` is not an object.
    func member(_ name: String, of value: Value) -> Value? {
        guard case .object(let members) = value.content else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The names of its members; empty if `value` is not an object.
    func names(of value: Value) -> Set<String> {
        guard case .object(let members) = value.content else { return [] }
        return Set(members.map(\.name))
    }

    /// The elements of the array in the member of that name; empty if there is no such array.
    func elements(_ name: String, of value: Value) -> [Value] {
        guard let array = member(name, of: value), case .array(let elements) = array.content else { return [] }
        return elements
    }

    /// The text of a string; nil for anything else.
    func string(_ value: Value?) -> String? {
        guard let value, case .string(let hasEscapes) = value.content else { return nil }
        return bytes[value.range].dropFirst().dropLast().withUnsafeBufferPointer {
            JSONString.text($0, hasEscapes: hasEscapes)
        }
    }

    /// A value as it is written.
    func written(_ value: Value) -> String { String(decoding: bytes[value.range], as: UTF8.self) }

    /// A number as it is written; nil for anything else.
    func number(_ value: Value?) -> String? {
        guard let value, case .number = value.content else { return nil }
        return written(value)
    }

    /// Nil for anything but `true` and `false`.
    func boolean(_ value: Value?) -> Bool? {
        guard let value, case .word = value.content else { return nil }
        switch bytes[value.range.lowerBound] {
        case UInt8(ascii: "t"): return true
        case UInt8(ascii: "f"): return false
        default: return nil
        }
    }

    /// Whether it is the word `true`.
    func isTrue(_ value: Value?) -> Bool { boolean(value) == true }
}
