extension JSONCursor {
    /// Steps over a value, and returns its position and kind; nil after a failure.
    @inline(__always) package mutating func value(depth: Int = 0) -> Span? {
        let first = position
        let kind: Kind
        switch byte {
        case UInt8(ascii: "\""):
            guard let text = string() else { return nil }
            return Span(offset: first + 1 - start, count: text.count, hasEscapes: stringHadEscapes, kind: .string)
        case UInt8(ascii: "{"): kind = .object
        case UInt8(ascii: "["): kind = .array
        case UInt8(ascii: "t"), UInt8(ascii: "f"): kind = .boolean
        case UInt8(ascii: "n"): kind = .null
        default: kind = .number
        }
        guard skipValue(depth: depth) else { return nil }
        return Span(offset: first - start, count: position - first, hasEscapes: false, kind: kind)
    }

    /// Iterates over the members of an object, from the opening brace: `body` gets the name as written, and whether
    /// it has escapes, and must step over the value. False after a failure, or if it is not an object.
    @inline(__always) package mutating func members(
        _ body: (inout JSONCursor, UnsafeBufferPointer<UInt8>, Bool) -> Bool
    ) -> Bool {
        guard skip("{") else { return fail("expected an object") }
        skipSpaces()
        if skip("}") { return true }
        while true {
            skipSpaces()
            guard let name = string() else { return false }
            let nameHasEscapes = stringHadEscapes
            skipSpaces()
            guard skip(":") else { return fail("expected a colon after a member's name") }
            skipSpaces()
            guard body(&self, name, nameHasEscapes) else { return false }
            skipSpaces()
            if skip(",") { continue }
            guard skip("}") else { return fail("expected a comma or the end after a member") }
            return true
        }
    }

    /// Iterates over the elements of an array; `body` must step over each.
    @inline(__always) package mutating func elements(_ body: (inout JSONCursor) -> Bool) -> Bool {
        guard skip("[") else { return fail("expected an array") }
        skipSpaces()
        if skip("]") { return true }
        while true {
            skipSpaces()
            guard body(&self) else { return false }
            skipSpaces()
            if skip(",") { continue }
            guard skip("]") else { return fail("expected a comma or the end after an element") }
            return true
        }
    }

    /// Steps over a value of any kind.
    package mutating func skipValue(depth: Int) -> Bool {
        switch byte {
        case UInt8(ascii: "\""): return string() != nil
        case UInt8(ascii: "{"):
            guard depth < Self.maximumDepth else { return fail("nested too deeply") }
            return members { cursor, _, _ in
                // Handles the most frequent kind without another call.
                cursor.byte == UInt8(ascii: "\"") ? cursor.string() != nil : cursor.skipValue(depth: depth + 1)
            }
        case UInt8(ascii: "["):
            guard depth < Self.maximumDepth else { return fail("nested too deeply") }
            return elements { $0.skipValue(depth: depth + 1) }
        case UInt8(ascii: "t"): return word("true")
        case UInt8(ascii: "f"): return word("false")
        case UInt8(ascii: "n"): return word("null")
        default: return number()
        }
    }

    /// Whether only spaces follow.
    package mutating func isAtEndOfText() -> Bool {
        skipSpaces()
        return isAtEnd ? true : fail("unexpected text after the end")
    }

    private mutating func number() -> Bool {
        guard position < end else { return fail("expected a value, found the end") }
        _ = skip("-")
        if !skip("0") { guard digits() else { return false } }
        if skip(".") { guard digits() else { return false } }
        if skip("e") || skip("E") {
            if !skip("+") { _ = skip("-") }
            guard digits() else { return false }
        }
        return true
    }

    @inline(__always) private mutating func digits() -> Bool {
        let first = position
        while position < end, position.pointee &- UInt8(ascii: "0") < 10 { position += 1 }
        return position > first ? true : fail("expected a value")
    }

    private mutating func word(_ word: StaticString) -> Bool {
        let count = word.utf8CodeUnitCount
        guard end - position >= count else { return fail("expected a value") }
        for index in 0..<count where position[index] != word.utf8Start[index] { return fail("expected a value") }
        position += count
        return true
    }
}
