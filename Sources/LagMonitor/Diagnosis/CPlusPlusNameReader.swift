/// Reads names as `__cxa_demangle` prints them, libstdc++'s and LLVM's.
enum CPlusPlusNameReader {
    private static let droppedPrefixes: [StaticString] = [
        "non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ", "invocation function for block in ",
    ]

    static func simplified(_ name: ArraySlice<UInt8>) -> [UInt8] {
        var cursor = NameCursor(name)
        for prefix in droppedPrefixes { _ = cursor.skip(prefix) }
        var path: [UInt8] = []
        while let byte = cursor.peek() {
            if isAtWordStart(path), takeOperator(&cursor, into: &path) { continue }
            if cursor.skip("(anonymous namespace)") {
                path.append(contentsOf: "(anonymous)".utf8)
                continue
            }
            if cursor.skip("'lambda") {
                // LLVM's `'lambda0'(int)`.
                while let byte = cursor.peek(), byte != UInt8(ascii: "'") { cursor.position += 1 }
                _ = cursor.skip("'")
                path.append(contentsOf: "lambda".utf8)
                continue
            }
            switch byte {
            case UInt8(ascii: "<"): cursor.skipAngles()
            case UInt8(ascii: "["): cursor.skipBrackets(UInt8(ascii: "["), UInt8(ascii: "]"))
            case UInt8(ascii: "{"):
                // `{lambda(int)#1}` and `{unnamed type#1}`.
                path.append(contentsOf: cursor.isAt("{lambda") ? "lambda".utf8 : "unnamed".utf8)
                cursor.skipBrackets(UInt8(ascii: "{"), UInt8(ascii: "}"))
            case UInt8(ascii: "("):
                cursor.skipParentheses()
                _ = cursor.skip(" const")
                // Arguments end the name, except those of a function that something is local to.
                if !cursor.isAt("::") { return path }
            case UInt8(ascii: " "):
                // What stood before was a return type: kept words are only those of an operator.
                cursor.position += 1
                if !cursor.isAt("[") { path.removeAll() }
            default:
                path.append(byte)
                cursor.position += 1
            }
        }
        return path
    }

    private static func isAtWordStart(_ path: [UInt8]) -> Bool {
        guard let last = path.last else { return true }
        return last == UInt8(ascii: ":")
    }

    /// `operator()`, `operator<<`, `operator new`, `operator int`.
    private static func takeOperator(_ cursor: inout NameCursor, into path: inout [UInt8]) -> Bool {
        var ahead = cursor
        guard ahead.skip("operator"), let next = ahead.peek() else { return false }
        guard "()[]+-*/%^&|~!=<>, \"".utf8.contains(next) else { return false }
        path.append(contentsOf: "operator".utf8)
        if ahead.skip("()") {
            path.append(contentsOf: "()".utf8)
        } else if ahead.skip("[]") {
            path.append(contentsOf: "[]".utf8)
        } else if next == UInt8(ascii: " ") || next == UInt8(ascii: "\"") {
            // A conversion, an allocation or a literal: to the arguments.
            while let byte = ahead.peek(), byte != UInt8(ascii: "(") {
                if byte == UInt8(ascii: "<") {
                    ahead.skipAngles()
                } else {
                    path.append(byte)
                    ahead.position += 1
                }
            }
        } else {
            while let byte = ahead.peek(), "+-*/%^&|~!=<>,".utf8.contains(byte) {
                path.append(byte)
                ahead.position += 1
            }
            // Before template arguments the printers put a space.
            if ahead.isAt(" <") { ahead.position += 1 }
        }
        cursor = ahead
        return true
    }
}
