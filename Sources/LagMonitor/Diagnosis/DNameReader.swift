/// Reads the path in a mangled name of D: `_D4shop6reportFZv` is `shop.report`, `_D3std4sort__T4sortTAiZQkFQfZv` `std.sort.sort`.
///
/// The types of the function and its template are left out, and so is what follows a template. Source: "Name Mangling" of the
/// language's ABI (https://dlang.org/spec/abi.html).
enum DNameReader {
    private static let maximumParts = 64
    private static let templates: [StaticString] = ["__T", "__U"]

    /// Nil if it is not such a name.
    static func path(of name: String) -> String? {
        let bytes = Array(name.utf8)
        var cursor = NameCursor(bytes[...])
        guard cursor.skip("_D") else { return nil }
        var parts: [ArraySlice<UInt8>] = []
        while parts.count < maximumParts {
            if templates.contains(where: { cursor.skip($0) }) {
                if let part = identifier(&cursor) { parts.append(part) }
                break
            }
            guard let part = identifier(&cursor) ?? earlierIdentifier(&cursor) else { break }
            // Older compilers put a length before a template, too.
            var inner = NameCursor(part)
            if templates.contains(where: { inner.skip($0) }) {
                if let part = identifier(&inner) { parts.append(part) }
                break
            }
            parts.append(part)
            skipFunctionWithoutArguments(&cursor)
        }
        return parts.isEmpty ? nil : parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ".")
    }

    /// A length, then that many characters.
    private static func identifier(_ cursor: inout NameCursor) -> ArraySlice<UInt8>? {
        var end = cursor
        var length = 0
        while let byte = end.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), length <= cursor.text.count {
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
            end.position += 1
        }
        guard length > 0, length <= end.rest.count else { return nil }
        cursor.position = end.position + length
        return cursor.text[end.position..<cursor.position]
    }

    /// `Q` and the distance back to the same identifier: in base 26, the last digit in lower case.
    private static func earlierIdentifier(_ cursor: inout NameCursor) -> ArraySlice<UInt8>? {
        let place = cursor.position
        guard cursor.skip("Q") else { return nil }
        var distance = 0
        while let byte = cursor.peek(), distance <= cursor.text.count {
            cursor.position += 1
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): distance = distance * 26 + Int(byte - UInt8(ascii: "A"))
            case UInt8(ascii: "a")...UInt8(ascii: "z"):
                distance = distance * 26 + Int(byte - UInt8(ascii: "a"))
                guard distance > 0, place - distance >= cursor.text.startIndex else { return nil }
                var earlier = cursor
                earlier.position = place - distance
                return identifier(&earlier)
            default: return nil
            }
        }
        return nil
    }

    /// An entity nested in a function has the function's type before its own name: `F`, attributes, arguments, `Z`.
    private static func skipFunctionWithoutArguments(_ cursor: inout NameCursor) {
        var end = cursor
        guard end.skip("F") else { return }
        while end.skip("N") { end.position += 1 }
        guard end.skip("Z"), let next = end.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(next) else { return }
        cursor = end
    }
}
