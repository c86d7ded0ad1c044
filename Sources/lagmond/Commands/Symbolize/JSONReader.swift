/// Finds the parts of a JSON text, by the grammar of RFC 8259.
struct JSONReader {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    private typealias Failure = JSONText.Failure

    mutating func document() throws(JSONText.Failure) -> JSONText.Value {
        skipSpaces()
        let value = try value()
        skipSpaces()
        guard position == bytes.count else { throw failure("something after the end") }
        return value
    }

    private func failure(_ reason: String) -> Failure { Failure(reason: reason, offset: position) }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func skipSpaces() {
        while let byte = next, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { position += 1 }
    }

    private mutating func skip(_ byte: Unicode.Scalar) -> Bool {
        guard next == UInt8(ascii: byte) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(Failure) -> JSONText.Value {
        let start = position
        let content: JSONText.Content
        switch next {
        case UInt8(ascii: "{"): content = .object(try nested { reader throws(Failure) in try reader.members() })
        case UInt8(ascii: "["): content = .array(try nested { reader throws(Failure) in try reader.elements() })
        case UInt8(ascii: "\""):
            try string()
            content = .string
        case UInt8(ascii: "t"): content = try word("true")
        case UInt8(ascii: "f"): content = try word("false")
        case UInt8(ascii: "n"): content = try word("null")
        case nil: throw failure("the end where a value should be")
        default:
            try number()
            content = .number
        }
        return JSONText.Value(range: start..<position, content: content)
    }

    private mutating func nested<Parts>(_ body: (inout JSONReader) throws(Failure) -> Parts) throws(Failure) -> Parts {
        position += 1
        depth += 1
        guard depth <= JSONText.maximumDepth else { throw failure("nested too deeply") }
        defer { depth -= 1 }
        return try body(&self)
    }

    private mutating func members() throws(Failure) -> [JSONText.Member] {
        var members: [JSONText.Member] = []
        skipSpaces()
        if skip("}") { return members }
        while true {
            skipSpaces()
            let start = position
            try string()
            let name = Self.text(of: bytes[start..<position].dropFirst().dropLast())
            skipSpaces()
            guard skip(":") else { throw failure("no colon after a member's name") }
            skipSpaces()
            members.append(JSONText.Member(name: name, value: try value()))
            skipSpaces()
            if skip("}") { return members }
            guard skip(",") else { throw failure("no comma and no end after a member") }
        }
    }

    private mutating func elements() throws(Failure) -> [JSONText.Value] {
        var elements: [JSONText.Value] = []
        skipSpaces()
        if skip("]") { return elements }
        while true {
            skipSpaces()
            elements.append(try value())
            skipSpaces()
            if skip("]") { return elements }
            guard skip(",") else { throw failure("no comma and no end after an element") }
        }
    }

    private mutating func string() throws(Failure) {
        guard skip("\"") else { throw failure("no string") }
        while let byte = next {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return
            case UInt8(ascii: "\\"):
                guard let escaped = next, "\"\\/bfnrtu".utf8.contains(escaped) else { throw failure("an unknown escape") }
                position += 1
                if escaped == UInt8(ascii: "u") { try hexDigits() }
            case ..<0x20: throw failure("a control character in a string")
            default: break
            }
        }
        throw failure("the end within a string")
    }

    private mutating func hexDigits() throws(Failure) {
        for _ in 0..<4 {
            guard let byte = next, Character(Unicode.Scalar(byte)).isHexDigit else { throw failure("no four hex digits") }
            position += 1
        }
    }

    private mutating func number() throws(Failure) {
        _ = skip("-")
        if !skip("0") { try digits() }
        if skip(".") { try digits() }
        if skip("e") || skip("E") {
            if !skip("+") { _ = skip("-") }
            try digits()
        }
    }

    private mutating func digits() throws(Failure) {
        let start = position
        while let byte = next, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { position += 1 }
        guard position > start else { throw failure("no value") }
    }

    private mutating func word(_ word: StaticString) throws(Failure) -> JSONText.Content {
        let count = word.utf8CodeUnitCount
        let isHere = word.withUTF8Buffer { bytes[position...].starts(with: $0) }
        guard isHere else { throw failure("no value") }
        position += count
        return .word
    }

    /// The text that a string's content stands for, its grammar checked before. A lone surrogate becomes U+FFFD.
    static func text(of content: ArraySlice<UInt8>) -> String {
        guard content.contains(UInt8(ascii: "\\")) else { return String(decoding: content, as: UTF8.self) }
        var units: [UInt16] = []
        var text = ""
        var rest = content
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() else {
                let plain = [byte] + rest.prefix { $0 != UInt8(ascii: "\\") }
                rest = rest.dropFirst(plain.count - 1)
                text += String(decoding: units, as: UTF16.self) + String(decoding: plain, as: UTF8.self)
                units = []
                continue
            }
            switch escaped {
            case UInt8(ascii: "u"):
                units.append(UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0xfffd)
                rest = rest.dropFirst(4)
            case UInt8(ascii: "b"): units.append(0x08)
            case UInt8(ascii: "f"): units.append(0x0c)
            case UInt8(ascii: "n"): units.append(0x0a)
            case UInt8(ascii: "r"): units.append(0x0d)
            case UInt8(ascii: "t"): units.append(0x09)
            default: units.append(UInt16(escaped))
            }
        }
        return text + String(decoding: units, as: UTF16.self)
    }
}
