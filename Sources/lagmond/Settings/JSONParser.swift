/// Reads a JSON document (RFC 8259) and says where it is wrong: Foundation's decoders tell no line, and take the last
/// of two members with the same name without a word.
struct JSONParser {
    struct Failure: Error, Equatable, CustomStringConvertible {
        let line: Int
        let column: Int
        let wrong: String
        var description: String { "line \(line), column \(column): \(wrong)" }
    }

    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    private static let deepest = 64

    private init(_ bytes: [UInt8]) { self.bytes = bytes }

    static func parse(_ bytes: [UInt8]) throws(Failure) -> JSONValue {
        var parser = JSONParser(bytes)
        guard String(validating: bytes, as: UTF8.self) != nil else {
            throw Failure(line: 1, column: 1, wrong: "this is not UTF-8")
        }
        let value = try parser.value()
        parser.skipSpace()
        guard parser.peek == nil else { throw parser.failure("there is more after the end of the document") }
        return value
    }

    private var peek: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func failure(_ wrong: String, at place: Int? = nil) -> Failure {
        let before = bytes[..<min(place ?? position, bytes.count)]
        let line = before.count { $0 == UInt8(ascii: "\n") } + 1
        let column = before.count - (before.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0) + 1
        return Failure(line: line, column: column, wrong: wrong)
    }

    private mutating func skipSpace() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(Failure) -> JSONValue {
        skipSpace()
        switch peek {
        case UInt8(ascii: "{"): return try nested { parser throws(Failure) in try parser.object() }
        case UInt8(ascii: "["): return try nested { parser throws(Failure) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case nil: throw failure("the document ends too early")
        default: return try word()
        }
    }

    private mutating func nested(_ body: (inout JSONParser) throws(Failure) -> JSONValue) throws(Failure) -> JSONValue {
        depth += 1
        guard depth <= Self.deepest else { throw failure("nested too deeply") }
        defer { depth -= 1 }
        position += 1
        return try body(&self)
    }

    private mutating func object() throws(Failure) -> JSONValue {
        var members: [String: JSONValue] = [:]
        skipSpace()
        if take("}") { return .object(members) }
        while true {
            skipSpace()
            let place = position
            guard peek == UInt8(ascii: "\"") else { throw failure("a name in quotes is missing") }
            let name = try string()
            guard members[name] == nil else { throw failure("\"\(name)\" stands here for the second time", at: place) }
            skipSpace()
            guard take(":") else { throw failure("a colon is missing after \"\(name)\"") }
            members[name] = try value()
            skipSpace()
            if take("}") { return .object(members) }
            guard take(",") else { throw failure("a comma or } is missing") }
        }
    }

    private mutating func array() throws(Failure) -> JSONValue {
        var elements: [JSONValue] = []
        skipSpace()
        if take("]") { return .array(elements) }
        while true {
            elements.append(try value())
            skipSpace()
            if take("]") { return .array(elements) }
            guard take(",") else { throw failure("a comma or ] is missing") }
        }
    }

    /// A number, or one of `true`, `false`, `null`.
    private mutating func word() throws(Failure) -> JSONValue {
        let start = position
        while let byte = peek, !Self.endsWord.contains(byte) { position += 1 }
        let word = String(decoding: bytes[start..<position], as: UTF8.self)
        switch word {
        case "true": return .bool(true)
        case "false": return .bool(false)
        case "null": return .null
        default: break
        }
        guard word.wholeMatch(of: /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+\-]?[0-9]+)?/) != nil, let number = Double(word) else {
            throw failure(word.isEmpty ? "a value is missing" : "\(word) is no JSON value", at: start)
        }
        return (Int(word) ?? Int(exactly: number)).map(JSONValue.int) ?? .double(number)
    }

    private static let endsWord = Set(" \n\r\t,:{}[]\"".utf8)

    private mutating func string() throws(Failure) -> String {
        let start = position
        position += 1
        var text: [UInt8] = []
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text.append(contentsOf: String(try escaped()).utf8)
            case ..<0x20: throw failure("a control character in a string", at: position - 1)
            default: text.append(byte)
            }
        }
        throw failure("the string has no end", at: start)
    }

    private mutating func escaped() throws(Failure) -> Unicode.Scalar {
        let place = position - 1
        guard let byte = peek else { throw failure("the document ends too early") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{c}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"): break
        default: throw failure("unknown escape", at: place)
        }
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard UTF16.isLeadSurrogate(first), take("\\"), take("u") else { throw failure("a lone surrogate", at: place) }
        let second = try codeUnit()
        guard UTF16.isTrailSurrogate(second) else { throw failure("a lone surrogate", at: place) }
        return UTF16.decode(UTF16.EncodedScalar([first, second]))
    }

    private mutating func codeUnit() throws(Failure) -> UInt16 {
        let digits = String(decoding: bytes[position..<min(position + 4, bytes.count)], as: UTF8.self)
        guard digits.utf8.count == 4, digits.allSatisfy(\.isHexDigit), let unit = UInt16(digits, radix: 16) else {
            throw failure("four hexadecimal digits are missing")
        }
        position += 4
        return unit
    }
}
