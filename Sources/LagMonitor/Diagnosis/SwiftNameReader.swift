/// Reads names as `swift_demangle` prints them.
///
/// The forms are those of `NodePrinter.cpp` of the Swift compiler (release 6.3), as far as they appear in names of code.
enum SwiftNameReader {
    /// Prefixes of a name that do not identify the function. Some are followed by `<…> of `.
    private static let droppedPrefixes: [StaticString] = [
        "static ", "class ", "specialized ", "implicit ", "@objc ", "@nonobjc ",
        "partial apply forwarder for ", "partial apply for ", "curry thunk of ", "dispatch thunk of ",
        "protocol witness for ", "protocol self-conformance witness for ", "vtable thunk for ", "override thunk of ",
        "distributed thunk ", "distributed accessor for ", "async function pointer to ",
        "dynamically replaceable thunk for ", "dynamically replaceable variable for ",
        "back deployment thunk for ", "back deployment fallback for ",
    ]
    private static let specializations: [StaticString] = [
        "generic specialization ", "generic not re-abstracted specialization ", "generic partial specialization ",
        "generic not-reabstracted partial specialization ", "generic pre-specialization ",
        "function signature specialization ", "inlined generic function ",
    ]

    /// Those of them that mark code which only calls the function named after them, and one that names no function.
    private static let forwarders: [StaticString] = [
        "partial apply forwarder for ", "partial apply for ", "curry thunk of ", "dispatch thunk of ", "protocol witness for ",
        "protocol self-conformance witness for ", "vtable thunk for ", "override thunk of ", "reabstraction thunk",
    ]

    /// Whether the compiler generated the code of this name to forward a call.
    static func isForwarder(_ name: String) -> Bool {
        var cursor = NameCursor(Array(name.utf8)[...])
        repeat {
            for forwarder in forwarders where cursor.isAt(forwarder) { return true }
        } while dropPrefix(&cursor)
        return false
    }

    static func simplified(_ name: ArraySlice<UInt8>) -> [UInt8] {
        var cursor = NameCursor(name)
        while dropPrefix(&cursor) {}
        // The name is that of one of several merged functions: this must stay visible.
        if cursor.skip("merged ") {
            while cursor.skip("merged ") {}
            return Array("merged ".utf8) + simplified(cursor.rest)
        }
        if cursor.isAt("reabstraction thunk") { return Array("reabstraction thunk".utf8) }
        if let phrase = leadingPhrase(cursor) {
            var inner = cursor
            inner.position += phrase.count
            return phrase.filter { !isDigit($0) }.collapsingSpaces + simplified(inner.rest)
        }
        return join(split(cursor.rest))
    }

    /// Moves past one prefix that can be dropped; false if there is none.
    private static func dropPrefix(_ cursor: inout NameCursor) -> Bool {
        for prefix in droppedPrefixes where cursor.skip(prefix) { return true }
        for prefix in specializations where cursor.isAt(prefix) {
            var ahead = cursor
            _ = ahead.skip(prefix)
            if ahead.peek() == UInt8(ascii: "<") { ahead.skipAngles() }
            _ = ahead.skip(" ")
            guard ahead.skip("of ") else { return false }
            cursor = ahead
            return true
        }
        return dropResumeFunction(&cursor)
    }

    /// `(3) await resume partial function for `: a part of an async function.
    private static func dropResumeFunction(_ cursor: inout NameCursor) -> Bool {
        var ahead = cursor
        guard ahead.skip("("), let digit = ahead.peek(), isDigit(digit) else { return false }
        while let byte = ahead.peek(), isDigit(byte) { ahead.position += 1 }
        guard ahead.skip(") await resume partial function for ") || ahead.skip(") suspend resume partial function for ")
        else { return false }
        cursor = ahead
        return true
    }

    /// Phrases such as `default argument 0 of ` and `one-time initialization function for `, including their last space.
    private static func leadingPhrase(_ cursor: NameCursor) -> [UInt8]? {
        var ahead = cursor
        guard let first = ahead.peek(), (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(first) else { return nil }
        while !ahead.isAtEnd {
            let start = ahead.position
            while let byte = ahead.peek(), isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") { ahead.position += 1 }
            guard ahead.position > start, ahead.peek() == UInt8(ascii: " ") else { return nil }
            let word = ahead.text[start..<ahead.position]
            ahead.position += 1
            if word.elementsEqual("of".utf8) || word.elementsEqual("for".utf8) {
                return Array(cursor.text[cursor.position..<ahead.position])
            }
        }
        return nil
    }

    /// The parts separated by ` in ` outside brackets: nested scopes, the innermost first.
    private static func split(_ name: ArraySlice<UInt8>) -> [ArraySlice<UInt8>] {
        var parts: [ArraySlice<UInt8>] = []
        var start = name.startIndex
        var cursor = NameCursor(name)
        var depth = 0
        while let byte = cursor.peek() {
            if let length = operatorLength(cursor) {
                cursor.position += length
                continue
            }
            switch byte {
            case UInt8(ascii: "("), UInt8(ascii: "<"), UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
            case UInt8(ascii: ")"), UInt8(ascii: "]"), UInt8(ascii: "}"): depth = max(0, depth - 1)
            case UInt8(ascii: ">") where cursor.peek(-1) != UInt8(ascii: "-"): depth = max(0, depth - 1)
            case UInt8(ascii: " ") where depth == 0 && cursor.isAt(" in "):
                parts.append(name[start..<cursor.position])
                cursor.position += 4
                start = cursor.position
                continue
            case UInt8(ascii: " ") where depth == 0 && cursor.isAt(" with unmangled suffix "):
                parts.append(name[start..<cursor.position])
                return parts
            default: break
            }
            cursor.position += 1
        }
        parts.append(name[start...])
        return parts
    }

    private static func join(_ parts: [ArraySlice<UInt8>]) -> [UInt8] {
        var names: [[UInt8]] = []
        // The numbers of nested closures, the innermost first.
        var closures: [ArraySlice<UInt8>] = []
        for part in parts {
            if part.starts(with: "conformance ") {
                if let last = names.popLast() { names.append(witness(last, conformance: part.dropFirst(12))) }
                break
            }
            var cursor = NameCursor(part)
            while dropPrefix(&cursor) {}
            if let number = closureNumber(cursor) {
                closures.append(number)
                continue
            }
            if !closures.isEmpty { names.append(closure(closures)) }
            closures = []
            let name = entityOrPhrase(cursor)
            if !name.isEmpty { names.append(name) }
        }
        if !closures.isEmpty { names.append(closure(closures)) }
        return Array(names.joined(separator: " in ".utf8))
    }

    private static func closureNumber(_ cursor: NameCursor) -> ArraySlice<UInt8>? {
        var ahead = cursor
        return ahead.skip("closure #") ? ahead.rest.prefix(while: isDigit) : nil
    }

    /// `closure` for the first closure of a declaration, `closure #2` for the second, `closure #2.3` for the third closure in the
    /// second: each of a list of handlers is a separate function. The first closure in a closure is not distinguished from the
    /// outer one: such nesting changes more often than the closures' work.
    private static func closure(_ numbers: [ArraySlice<UInt8>]) -> [UInt8] {
        let path = numbers.drop { $0.elementsEqual("1".utf8) }.reversed()
        return Array("closure".utf8) + (path.isEmpty ? [] : Array(" #".utf8) + path.joined(separator: ".".utf8))
    }

    private static func entityOrPhrase(_ cursor: NameCursor) -> [UInt8] {
        guard let phrase = leadingPhrase(cursor) else { return entity(cursor.rest) }
        var inner = cursor
        inner.position += phrase.count
        while dropPrefix(&inner) {}
        return phrase.filter { !isDigit($0) }.collapsingSpaces + entity(inner.rest)
    }

    /// The type's own name for a requirement: `App.Shape.draw` from `App.Drawable.draw` and `App.Shape : App.Drawable`.
    private static func witness(_ requirement: [UInt8], conformance: ArraySlice<UInt8>) -> [UInt8] {
        let type = entity(conformance)
        guard let colon = conformance.indices.first(where: { conformance[$0...].starts(with: " : ") }) else { return requirement }
        let place = entity(conformance[(colon + 3)...]) + [UInt8(ascii: ".")]
        guard !type.isEmpty, requirement.starts(with: place) else { return requirement }
        return type + [UInt8(ascii: ".")] + requirement.dropFirst(place.count)
    }

    /// A path of names, without generics, up to the arguments or the type.
    private static func entity(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var cursor = NameCursor(text)
        var path: [UInt8] = []
        let owner = extensionOwner(&cursor)
        while !cursor.isAtEnd {
            let before = path.count
            component(&cursor, into: &path)
            guard path.count > before else { break }
            while cursor.peek() == UInt8(ascii: "<") { cursor.skipAngles() }
            guard cursor.peek() == UInt8(ascii: "."), cursor.peek(1) != nil else { break }
            cursor.position += 1
            path.append(UInt8(ascii: "."))
        }
        // The code is in the module of the extension, in whatever module the type is.
        if let owner, let dot = path.firstIndex(of: UInt8(ascii: ".")) { return owner + path[dot...] }
        return path
    }

    /// Moves past `(extension in App):`; returns `App`.
    private static func extensionOwner(_ cursor: inout NameCursor) -> [UInt8]? {
        guard cursor.skip("(extension in ") else { return nil }
        let start = cursor.position
        while let byte = cursor.peek(), byte != UInt8(ascii: ")") { cursor.position += 1 }
        let owner = Array(cursor.text[start..<cursor.position])
        _ = cursor.skip("):")
        return owner
    }

    private static func component(_ cursor: inout NameCursor, into path: inout [UInt8]) {
        if cursor.peek() == UInt8(ascii: "(") {
            // `(name in _0123ABCD)`: private to a file.
            var inner = cursor
            inner.position += 1
            let start = inner.position
            while !inner.isAtEnd, !inner.isAt(" in _") {
                guard inner.peek() != UInt8(ascii: ")") else { return }
                inner.position += 1
            }
            guard !inner.isAtEnd else { return }
            path.append(contentsOf: cursor.text[start..<inner.position])
            cursor.skipParentheses()
            return
        }
        if let length = operatorLength(cursor) {
            path.append(contentsOf: cursor.text[cursor.position..<cursor.position + length])
            cursor.position += length
            return
        }
        if cursor.peek() == UInt8(ascii: "`") {
            // A raw identifier may contain anything except the quote.
            repeat { takeByte(&cursor, into: &path) } while !cursor.isAtEnd && cursor.peek() != UInt8(ascii: "`")
            if !cursor.isAtEnd { takeByte(&cursor, into: &path) }
            return
        }
        while let byte = cursor.peek(), isNameByte(byte) { takeByte(&cursor, into: &path) }
    }

    private static func takeByte(_ cursor: inout NameCursor, into path: inout [UInt8]) {
        path.append(cursor.text[cursor.position])
        cursor.position += 1
    }

    /// The length of the operator that begins here: a run of operator characters before its fixity or its private mark.
    private static func operatorLength(_ cursor: NameCursor) -> Int? {
        var ahead = cursor
        while let byte = ahead.peek(), isOperatorByte(byte) { ahead.position += 1 }
        guard ahead.position > cursor.position else { return nil }
        guard ahead.isAt(" infix") || ahead.isAt(" prefix") || ahead.isAt(" postfix") || ahead.isAt(" in _") else { return nil }
        // The dot before an operator separates it from its type.
        let isInType = cursor.peek() == UInt8(ascii: ".") && (cursor.peek(-1).map(isNameByte) ?? false)
        return isInType ? nil : ahead.position - cursor.position
    }

    private static func isOperatorByte(_ byte: UInt8) -> Bool { "/=-+!*%<>&|^~?.".utf8.contains(byte) || byte >= 0x80 }
    private static func isNameByte(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$") || byte >= 0x80
    }
    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

extension [UInt8] {
    /// With two consecutive spaces replaced by one.
    fileprivate var collapsingSpaces: [UInt8] {
        reduce(into: []) { text, byte in
            if byte != UInt8(ascii: " ") || text.last != UInt8(ascii: " ") { text.append(byte) }
        }
    }
}
