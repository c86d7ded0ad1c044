internal import LagModel

/// Reads the path of a C++ function from its mangled name, without template and function arguments: for names that are too long
/// for the demangler, `std::__unguarded_linear_insert` from `_ZSt25__unguarded_linear_insertIN9__gnu_cxx…`.
///
/// The grammar is that of the Itanium C++ ABI, "Mangling". Of expressions, only a function's address is supported: a name that
/// contains another expression before the end of its path returns nil. Time in proportion to the name; its depth is bounded.
struct ItaniumPathReader {
    private static let maximumDepth = 128

    private static let operators: [(StaticString, StaticString)] = [
        ("nw", " new"), ("na", " new[]"), ("dl", " delete"), ("da", " delete[]"), ("aw", " co_await"), ("ps", "+"), ("ng", "-"),
        ("ad", "&"), ("de", "*"), ("co", "~"), ("pl", "+"), ("mi", "-"), ("ml", "*"), ("dv", "/"), ("rm", "%"), ("an", "&"),
        ("or", "|"), ("eo", "^"), ("aS", "="), ("pL", "+="), ("mI", "-="), ("mL", "*="), ("dV", "/="), ("rM", "%="), ("aN", "&="),
        ("oR", "|="), ("eO", "^="), ("ls", "<<"), ("rs", ">>"), ("lS", "<<="), ("rS", ">>="), ("ss", "<=>"), ("eq", "=="),
        ("ne", "!="), ("lt", "<"), ("gt", ">"), ("le", "<="), ("ge", ">="), ("nt", "!"), ("aa", "&&"), ("oo", "||"), ("pp", "++"),
        ("mm", "--"), ("cm", ","), ("pm", "->*"), ("pt", "->"), ("cl", "()"), ("ix", "[]"),
    ]
    private static let standardNames: [(StaticString, StaticString)] = [
        ("St", "std"), ("Sa", "std::allocator"), ("Sb", "std::basic_string"), ("Ss", "std::string"), ("Si", "std::istream"),
        ("So", "std::ostream"), ("Sd", "std::iostream"),
    ]

    private var cursor: NameCursor
    private var path: [UInt8] = []
    /// Where the path's last component begins.
    private var last = 0
    /// Within something that is only skipped.
    private var skipping = 0
    private var depth = 0

    private init(_ text: ArraySlice<UInt8>) { cursor = NameCursor(text) }

    /// Nil if it cannot be read.
    static func path(of mangled: String) -> String? {
        var reader = ItaniumPathReader(Array(mangled.utf8)[...])
        guard reader.cursor.skip("_Z"), reader.name(), !reader.path.isEmpty else { return nil }
        return String(decoding: reader.path, as: UTF8.self)
    }

    private mutating func append(_ component: some Sequence<UInt8>) {
        guard skipping == 0 else { return }
        if !path.isEmpty { path += "::".utf8 }
        last = path.count
        path += component
    }

    private mutating func append(_ component: StaticString) { component.withUTF8Buffer { append($0) } }

    private mutating func passing(_ body: (inout Self) -> Bool) -> Bool {
        guard depth < Self.maximumDepth else { return false }
        depth += 1
        skipping += 1
        defer {
            depth -= 1
            skipping -= 1
        }
        return body(&self)
    }

    /// Skips what `body` reads until an `E`.
    private mutating func passingToEnd(_ body: (inout Self) -> Bool) -> Bool {
        passing { reader in
            while !reader.cursor.skip("E") {
                guard body(&reader) else { return false }
            }
            return true
        }
    }

    private mutating func name() -> Bool {
        if cursor.skip("N") { return nested() }
        if cursor.skip("Z") { return local() }
        if cursor.isAt("S"), !standardOrSubstitution() { return false }
        if cursor.isAt("I") { return templateArguments() }
        guard component() else { return false }
        return !cursor.isAt("I") || templateArguments()
    }

    private mutating func nested() -> Bool {
        while cursor.skip("r") || cursor.skip("V") || cursor.skip("K") {}
        if !cursor.skip("R") { _ = cursor.skip("O") }
        while !cursor.skip("E") {
            let isRead =
                if cursor.isAt("I") {
                    templateArguments()
                } else if cursor.isAt("S") {
                    standardOrSubstitution()
                } else if cursor.isAt("T") {
                    skipping > 0 && parameter()
                } else {
                    component()
                }
            guard isRead else { return false }
            _ = cursor.skip("M")
        }
        return true
    }

    /// For a function's own types and lambdas: the function, and the entity in it.
    private mutating func local() -> Bool {
        guard depth < Self.maximumDepth else { return false }
        depth += 1
        defer { depth -= 1 }
        guard name(), passingToEnd({ $0.type() }) else { return false }
        if cursor.skip("s") { return discriminator() }
        if cursor.skip("d"), !number(endingIn: "_") { return false }
        return name() && discriminator()
    }

    private mutating func discriminator() -> Bool {
        guard cursor.skip("_") else { return true }
        if cursor.skip("_") { return number(endingIn: "_") }
        guard cursor.peek() != nil else { return false }
        cursor.position += 1
        return true
    }

    private mutating func component() -> Bool {
        _ = cursor.skip("L")
        guard let byte = cursor.peek() else { return false }
        let isRead =
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): sourceName()
            case UInt8(ascii: "C"), UInt8(ascii: "D"): structor()
            case UInt8(ascii: "U"): unnamed()
            default: operatorName()
            }
        guard isRead else { return false }
        while cursor.skip("B") {
            guard passing({ $0.sourceName() }) else { return false }
        }
        return true
    }

    private mutating func sourceName() -> Bool {
        var length = 0
        while let byte = cursor.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), length < 1 << 20 {
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
            cursor.position += 1
        }
        guard length > 0, length <= cursor.rest.count else { return false }
        let text = cursor.rest.prefix(length)
        cursor.position += length
        if text.starts(with: "_GLOBAL__N") { append("(anonymous namespace)") } else { append(text) }
        return true
    }

    private mutating func structor() -> Bool {
        let isDestructor = cursor.isAt("D")
        cursor.position += 1
        let isInherited = !isDestructor && cursor.skip("I")
        guard let digit = cursor.peek(), "012345".utf8.contains(digit), !path.isEmpty else { return false }
        cursor.position += 1
        // A name in the program's file may repeat it: the path is no longer than the name.
        guard path.count <= cursor.text.count else { return false }
        append((isDestructor ? [UInt8(ascii: "~")] : []) + path[last...])
        return !isInherited || passing { $0.type() }
    }

    /// `UlvE_`, `Ut0_`.
    private mutating func unnamed() -> Bool {
        if cursor.skip("Ut") {
            guard number(endingIn: "_") else { return false }
            append("{unnamed}")
            return true
        }
        guard cursor.skip("Ul"), passingToEnd({ $0.type() }) else { return false }
        let begin = cursor.position
        guard number(endingIn: "_") else { return false }
        // The first one has no number.
        let digits = cursor.text[begin..<cursor.position - 1]
        let count = UInt64(String(decoding: digits, as: UTF8.self)).map { $0.saturatingSum(2) } ?? 1
        append("{lambda#\(count)}".utf8)
        return true
    }

    private mutating func operatorName() -> Bool {
        if cursor.skip("cv") {
            append("operator")
            return passing { $0.type() }
        }
        if cursor.skip("li") {
            append("operator\"\"")
            return passing { $0.sourceName() }
        }
        guard let (_, text) = Self.operators.first(where: { cursor.skip($0.0) }) else { return false }
        append("operator\(text)".utf8)
        return true
    }

    private mutating func standardOrSubstitution() -> Bool {
        if let (_, text) = Self.standardNames.first(where: { cursor.skip($0.0) }) {
            append(text)
            if skipping == 0, text.utf8CodeUnitCount > 3 { last = path.count - text.utf8CodeUnitCount + 5 }
            return true
        }
        // What it refers to is not kept.
        guard skipping > 0, cursor.skip("S") else { return false }
        return number(endingIn: "_")
    }

    private mutating func parameter() -> Bool { cursor.skip("T") && number(endingIn: "_") }

    /// Digits in base 10 or 36, or none.
    private mutating func number(endingIn end: StaticString) -> Bool {
        while let byte = cursor.peek(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ".utf8.contains(byte) { cursor.position += 1 }
        return cursor.skip(end)
    }

    private mutating func templateArguments() -> Bool {
        cursor.skip("I") && passingToEnd { $0.templateArgument() }
    }

    private mutating func templateArgument() -> Bool {
        if cursor.skip("J") { return passingToEnd { $0.templateArgument() } }
        if cursor.skip("Xad") { return cursor.skip("L") && literal() && cursor.skip("E") }
        return cursor.skip("L") ? literal() : type()
    }

    private mutating func literal() -> Bool {
        if cursor.skip("_Z") { return name() && passingToEnd { $0.type() } }
        guard type() else { return false }
        while let byte = cursor.peek(), "0123456789abcdefn_".utf8.contains(byte) { cursor.position += 1 }
        return cursor.skip("E")
    }

    private mutating func type() -> Bool { passing { $0.typeWithinBounds() } }

    private mutating func typeWithinBounds() -> Bool {
        guard let byte = cursor.peek() else { return false }
        switch byte {
        case UInt8(ascii: "N"), UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): return name()
        case UInt8(ascii: "S"): return named()
        case UInt8(ascii: "T"):
            guard parameter() else { return false }
            return !cursor.isAt("I") || templateArguments()
        default: break
        }
        cursor.position += 1
        switch byte {
        case UInt8(ascii: "P"), UInt8(ascii: "R"), UInt8(ascii: "O"), UInt8(ascii: "K"), UInt8(ascii: "V"), UInt8(ascii: "r"),
            UInt8(ascii: "C"), UInt8(ascii: "G"):
            // After the arguments of a function type, `R` and `O` belong to the function.
            return cursor.isAt("E") || type()
        case UInt8(ascii: "M"): return type() && type()
        case UInt8(ascii: "F"):
            _ = cursor.skip("Y")
            return passingToEnd { $0.type() }
        case UInt8(ascii: "A"): return number(endingIn: "_") && type()
        case UInt8(ascii: "U"):
            guard sourceName() else { return false }
            return (!cursor.isAt("I") || templateArguments()) && type()
        case UInt8(ascii: "u"): return sourceName()
        case UInt8(ascii: "D"): return extended()
        default: return "abcdefghijlmnostvwxyz".utf8.contains(byte)
        }
    }

    /// A class by `S…`; only `std` itself is not a class.
    private mutating func named() -> Bool {
        let isStandard = cursor.isAt("St")
        guard standardOrSubstitution(), !isStandard || component() else { return false }
        return !cursor.isAt("I") || templateArguments()
    }

    private mutating func extended() -> Bool {
        guard let byte = cursor.peek() else { return false }
        cursor.position += 1
        switch byte {
        case UInt8(ascii: "p"), UInt8(ascii: "o"): return type()
        case UInt8(ascii: "v"): return number(endingIn: "_") && type()
        case UInt8(ascii: "F"): return number(endingIn: "_") || cursor.skip("b") || cursor.skip("x")
        default: return "dfehisuacn".utf8.contains(byte)
        }
    }
}
