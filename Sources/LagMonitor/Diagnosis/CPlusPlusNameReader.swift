/// Reads names as `__cxa_demangle` prints them, from libstdc++ and LLVM.
enum CPlusPlusNameReader {
    private static let droppedPrefixes: [StaticString] = [
        "non-virtual thunk to ", "virtual thunk to ", "covariant return thunk to ", "invocation function for block in ",
    ]

    /// Operators of more than one character, the longer ones first.
    private static let operators: [StaticString] = [
        "<=>", "->*", "<<=", ">>=", "->", "++", "--", "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "+=", "-=", "*=", "/=",
        "%=",
        "^=", "&=", "|=",
    ]

    static func simplified(_ name: ArraySlice<UInt8>) -> [UInt8] { read(name).path }

    /// What the simplified name leaves out but distinguishes functions of one name: template arguments, and which lambda of its
    /// function it is (the Itanium ABI numbers lambdas within their function). Nil if there is none of these.
    static func variant(_ name: String) -> String? {
        let variant = read(Array(name.utf8)[...]).variant
        return variant.isEmpty ? nil : String(decoding: variant, as: UTF8.self)
    }

    /// The first lambda in a variant, including its enclosing functions and lambdas: `routes()::{lambda()#2}`.
    static func closure(in variant: String) -> String? {
        let text = Array(variant.utf8)
        guard let first = text.indices.first(where: { NameCursor(text[$0...]).isAtLambda }) else { return nil }
        var end = NameCursor(text[first...])
        end.skipLambda()
        while true {
            var within = end
            guard within.skip("::operator()") else { break }
            within.skipParentheses()
            _ = within.skip(" const")
            guard within.skip("::"), within.isAtLambda else { break }
            within.skipLambda()
            end = within
        }
        var begin = first
        var depth = 0
        while begin > 0 {
            let byte = text[begin - 1]
            if ")>".utf8.contains(byte) {
                depth += 1
            } else if "(<".utf8.contains(byte) {
                if depth == 0 { break }
                depth -= 1
            } else if depth == 0, ", &*".utf8.contains(byte) {
                break
            }
            begin -= 1
        }
        return String(decoding: text[begin..<end.position], as: UTF8.self)
    }

    private static func read(_ name: ArraySlice<UInt8>) -> (path: [UInt8], variant: [UInt8]) {
        var cursor = NameCursor(name)
        for prefix in droppedPrefixes { _ = cursor.skip(prefix) }
        var path: [UInt8] = []
        var variant: [UInt8] = []
        while let byte = cursor.peek() {
            if isAtWordStart(path), takeOperator(&cursor, into: &path) { continue }
            if cursor.skip("(anonymous namespace)") {
                path.append(contentsOf: "(anonymous)".utf8)
                continue
            }
            if cursor.skip("'lambda") {
                // LLVM's `'lambda0'(int)`.
                while let byte = cursor.peek(), byte != UInt8(ascii: "'") {
                    variant.append(byte)
                    cursor.position += 1
                }
                variant.append(UInt8(ascii: "'"))
                _ = cursor.skip("'")
                path.append(contentsOf: "lambda".utf8)
                continue
            }
            let begin = cursor.position
            switch byte {
            case UInt8(ascii: "<"):
                if cursor.isAtLambda { path.append(contentsOf: "lambda".utf8) }
                cursor.skipAngles()
                variant += name[begin..<cursor.position]
            case UInt8(ascii: "["): cursor.skipBrackets(UInt8(ascii: "["), UInt8(ascii: "]"))
            case UInt8(ascii: "{"):
                // `{lambda(int)#1}` and `{unnamed type#1}`.
                path.append(contentsOf: cursor.isAt("{lambda") ? "lambda".utf8 : "unnamed".utf8)
                cursor.skipBrackets(UInt8(ascii: "{"), UInt8(ascii: "}"))
                variant += name[begin..<cursor.position]
            case UInt8(ascii: "("):
                cursor.skipParentheses()
                if path.isEmpty || path.elementsEqual("decltype".utf8) {
                    // From a return type: `decltype(auto) f<int>(int)`; or from one that encloses the name: `void
                    // (*f<int>(int))(char)`.
                    path.removeAll()
                    if cursor.isAt("(") || cursor.isAt("[") { cursor.position = begin + 1 }
                    continue
                }
                _ = cursor.skip(" const")
                // Arguments end the name, except those of a function with a local entity.
                if !cursor.isAt("::") { return (path, variant) }
            case UInt8(ascii: " "):
                // What came before was a return type: only an operator's words are kept.
                cursor.position += 1
                guard !cursor.isAt("[") else { continue }
                path.removeAll()
                variant.removeAll()
            case UInt8(ascii: "*"), UInt8(ascii: "&"):
                // Also for a return type.
                cursor.position += 1
                path.removeAll()
                variant.removeAll()
            default:
                path.append(byte)
                cursor.position += 1
            }
        }
        return (path, variant)
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
            // A template's arguments may follow directly: `operator==<char>`.
            let begin = ahead.position
            if !operators.contains(where: { ahead.skip($0) }) { ahead.position += 1 }
            path += ahead.text[begin..<ahead.position]
            // The printers put a space before template arguments.
            if ahead.isAt(" <") { ahead.position += 1 }
        }
        cursor = ahead
        return true
    }
}

extension NameCursor {
    /// In libstdc++'s printed form, or in gcc's debug information.
    fileprivate var isAtLambda: Bool { isAt("{lambda") || isAt("<lambda(") }

    fileprivate mutating func skipLambda() {
        if isAt("{") { skipBrackets(UInt8(ascii: "{"), UInt8(ascii: "}")) } else { skipAngles() }
    }
}
