/// The name of a method with a computed name (`[Symbol.iterator]() { … }`), as written in the source.
///
/// V8 keeps what came of it in each closure alone, among the properties that the program may change. In the source it stands before the parameters, and nothing else does there that ends
/// in a bracket.
enum V8ComputedName {
    /// The searched length before the parameters, in characters.
    private static let maximumCharacters = 128
    private static let modifiers: Set<String> = ["get", "set", "static", "async"]
    /// The characters that may precede a method: the end of the previous one, or the enclosing brace.
    private static let separators: Set<Character> = ["{", "}", ",", ";", "*"]

    /// - Parameter before: the source text before the parameters.
    /// - Returns: nil: not such a name.
    static func name(_ before: Substring) -> String? {
        let text = trimmed(before)
        guard text.last == "]" else { return nil }
        var depth = 0
        for place in text.indices.reversed() {
            switch text[place] {
            case "]": depth += 1
            case "[": depth -= 1
            case "\n", "\r\n", "\r", ";", "{", "}": return nil
            default: break
            }
            guard depth == 0 else { continue }
            return beginsMember(text[..<place]) ? String(text[place...]) : nil
        }
        return nil
    }

    /// - Parameter start: where the parameters begin, in characters.
    /// - Returns: the text before them; nil if no parameters begin there.
    static func text(before start: Int, in source: V8Heap.Flat, _ heap: V8Heap) -> String? {
        guard start > 0, start < source.count else { return nil }
        let first = max(0, start - maximumCharacters)
        let width = source.isOneByte ? 1 : 2
        guard let bytes = heap.read(source.address &+ UInt64(first * width), (start + 1 - first) * width) else { return nil }
        let units = (0...start - first).map { place -> UInt16 in
            source.isOneByte ? UInt16(bytes[place]) : bytes.number(at: place * 2) ?? 0
        }
        // The parameters must begin here: otherwise the numbers belong to something else.
        guard units.last == UInt16(UInt8(ascii: "(")) else { return nil }
        return String(decoding: units.dropLast(), as: UTF16.self)
    }

    private static func trimmed(_ text: Substring) -> Substring {
        guard let last = text.lastIndex(where: { !$0.isWhitespace }) else { return text.prefix(0) }
        return text[...last]
    }

    private static func beginsMember(_ text: Substring) -> Bool {
        let rest = trimmed(text)
        guard let last = rest.last, !text[rest.endIndex...].contains(where: \.isNewline), !separators.contains(last) else {
            return true
        }
        let word = rest.reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "$" || $0 == "." }
        return modifiers.contains(String(word.reversed()))
    }
}
