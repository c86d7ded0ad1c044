internal import LagMonitor
internal import LagReader

extension JSONValue {
    /// Why a text is not JSON, and where.
    struct Failure: Error, Equatable, CustomStringConvertible {
        let description: String
    }

    /// Parses a document (RFC 8259). A duplicate member is an error, because one of the two would be silently ignored.
    init(parsing bytes: [UInt8]) throws(Failure) {
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) {
            throw Failure(description: "it begins with a byte order mark, which RFC 8259 forbids: save it as UTF-8 without one")
        }
        guard String(validating: bytes, as: UTF8.self) != nil else { throw Failure(description: "it is not UTF-8") }
        let text: JSONText
        do throws(JSONCursor.Failure) {
            text = try JSONText(bytes)
        } catch {
            let before = bytes.prefix(error.offset)
            let line = before.count { $0 == UInt8(ascii: "\n") } + 1
            let column = before.reversed().prefix { $0 != UInt8(ascii: "\n") }.count + 1
            throw Failure(description: "\(error.reason) in line \(line), column \(column)")
        }
        let duplicate = bytes.withUnsafeBytes { DuplicateName.first(in: $0) }
        if let duplicate { throw Failure(description: "\(duplicate) appears twice") }
        self.init(text.root, in: text)
    }

    private init(_ value: JSONText.Value, in text: JSONText) {
        switch value.content {
        case .object(let members):
            let pairs = members.map { ($0.name, JSONValue($0.value, in: text)) }
            self = .object(Dictionary(pairs, uniquingKeysWith: { $1 }))
        case .array(let elements): self = .array(elements.map { JSONValue($0, in: text) })
        case .string: self = .string(text.string(value) ?? "")
        case .number: self = Self.number(text.written(value))
        case .word: self = text.boolean(value).map(JSONValue.bool) ?? .null
        }
    }

    /// A number without a fraction is an `int`, also `2e3`. One beyond the range of `Double` is infinite, which no setting allows.
    private static func number(_ text: String) -> JSONValue {
        if let int = Int(text) { return .int(int) }
        let double = Double(text) ?? .infinity
        return Int(exactly: double).map(JSONValue.int) ?? .double(double)
    }
}
