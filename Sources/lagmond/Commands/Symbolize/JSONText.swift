/// A JSON text (RFC 8259) that stays as it is, with the places of its parts: for edits that keep every other byte, the
/// order of members, spaces, and how numbers are written.
struct JSONText {
    struct Value {
        /// Where it stands in ``bytes``; a string with its quotes.
        let range: Range<Int>
        let content: Content
    }

    enum Content {
        case object([Member])
        case array([Value])
        case string
        case number
        /// `true`, `false`, `null`.
        case word
    }

    struct Member {
        let name: String
        let value: Value
    }

    /// What is wrong, and after how many bytes.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let reason: String
        let offset: Int

        var description: String { "\(reason) at byte \(offset + 1)" }
    }

    /// Deeper texts are refused: the reader's own stack is bounded.
    static let maximumDepth = 128

    let bytes: [UInt8]
    let root: Value

    /// Reads `bytes`, spaces around the value allowed. Text in strings may be any bytes: what is not looked at is not judged.
    init(_ bytes: [UInt8]) throws(Failure) {
        var reader = JSONReader(bytes)
        root = try reader.document()
        self.bytes = bytes
    }

    /// The member of that name; of several the last. Nil when `value` is no object.
    func member(_ name: String, of value: Value) -> Value? {
        guard case .object(let members) = value.content else { return nil }
        return members.last { $0.name == name }?.value
    }

    /// The names of its members; none when `value` is no object.
    func names(of value: Value) -> Set<String> {
        guard case .object(let members) = value.content else { return [] }
        return Set(members.map(\.name))
    }

    /// The elements of the array that is the member of that name; none when there is no such array.
    func elements(_ name: String, of value: Value) -> [Value] {
        guard let array = member(name, of: value), case .array(let elements) = array.content else { return [] }
        return elements
    }

    /// The text of a string; nil for anything else.
    func string(_ value: Value?) -> String? {
        guard let value, case .string = value.content else { return nil }
        return JSONReader.text(of: bytes[value.range].dropFirst().dropLast())
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
