/// Reads Rust names in the second mangling ("v0"), which its standard library uses since 1.95, and produces the same paths as
/// ``RustNameReader`` does for the first:
///
///     _RNvNtNtCsjrHSEGnQ3l9_3std6thread9functions5sleep                          std::thread::functions::sleep
///     _RNvXs1m_NtCs…_5alloc6stringNtB6_13FromUtf8ErrorNtNtCs…_4core3fmt5Debug3fmt  <alloc::string::FromUtf8Error as core::fmt::Debug>::fmt
///
/// Generic arguments are left out, because they depend on the optimiser. Source: Rust RFC 2603 and "v0 Symbol Format" of the
/// rustc book. A name may be anything: the amount read, its depth and the text are bounded.
struct RustPathReader {
    /// More steps are treated as damage; repetitions refer to what was read before, and could be nested.
    private static let maximumSteps = 4096
    private static let maximumDepth = 64
    private static let maximumTextBytes = 2048
    private static let basicTypes: [UInt8: StaticString] = [
        UInt8(ascii: "b"): "bool", UInt8(ascii: "c"): "char", UInt8(ascii: "e"): "str", UInt8(ascii: "u"): "()",
        UInt8(ascii: "a"): "i8",
        UInt8(ascii: "s"): "i16", UInt8(ascii: "l"): "i32", UInt8(ascii: "x"): "i64", UInt8(ascii: "n"): "i128",
        UInt8(ascii: "i"): "isize",
        UInt8(ascii: "h"): "u8", UInt8(ascii: "t"): "u16", UInt8(ascii: "m"): "u32", UInt8(ascii: "y"): "u64",
        UInt8(ascii: "o"): "u128",
        UInt8(ascii: "j"): "usize", UInt8(ascii: "f"): "f32", UInt8(ascii: "d"): "f64", UInt8(ascii: "z"): "!",
        UInt8(ascii: "p"): "_",
        UInt8(ascii: "v"): "...",
    ]

    private var cursor: NameCursor
    private var text: [UInt8] = []
    private var steps = 0
    private var depth = 0
    /// Nesting of parts that are read without being shown.
    private var hidden = 0
    private var isDamaged = false

    /// Nil if it is not such a name.
    static func path(of name: String) -> String? {
        let bytes = Array(name.utf8)
        guard bytes.starts(with: "_R"), bytes.count > 3 else { return nil }
        var reader = RustPathReader(cursor: NameCursor(bytes[2...]))
        // A later version of the mangling has a number here.
        guard let first = reader.cursor.peek(), "NMXYI".utf8.contains(first) else { return nil }
        reader.path()
        // What follows is the instantiating crate, or a compiler's addition.
        guard !reader.isDamaged, !reader.text.isEmpty, reader.cursor.peek().map({ "CNMXYIB.$".utf8.contains($0) }) ?? true else {
            return nil
        }
        return String(decoding: reader.text, as: UTF8.self)
    }

    private init(cursor: NameCursor) { self.cursor = cursor }

    private mutating func next() -> UInt8? {
        steps += 1
        guard steps <= Self.maximumSteps, let byte = cursor.peek() else {
            isDamaged = true
            return nil
        }
        cursor.position += 1
        return byte
    }

    private mutating func show(_ word: StaticString) { word.withUTF8Buffer { show($0) } }

    private mutating func show(_ bytes: some Sequence<UInt8>) {
        guard hidden == 0, text.count < Self.maximumTextBytes else { return }
        text.append(contentsOf: bytes)
    }

    private mutating func hiding(_ body: (inout RustPathReader) -> Void) {
        hidden += 1
        body(&self)
        hidden -= 1
    }

    private mutating func nested(_ body: (inout RustPathReader) -> Void) {
        steps += 1
        guard !isDamaged, steps <= Self.maximumSteps, depth < Self.maximumDepth else {
            isDamaged = true
            return
        }
        depth += 1
        body(&self)
        depth -= 1
    }

    private mutating func path() {
        nested { reader in
            switch reader.next() {
            case UInt8(ascii: "C"): reader.identifier()
            case UInt8(ascii: "M"): reader.inherent()
            case UInt8(ascii: "X"):
                reader.implementation()
                reader.asTrait()
            case UInt8(ascii: "Y"): reader.asTrait()
            case UInt8(ascii: "N"): reader.member()
            case UInt8(ascii: "I"):
                reader.path()
                reader.hiding { $0.arguments() }
            case UInt8(ascii: "B"): reader.repeated { $0.path() }
            default: reader.isDamaged = true
            }
        }
    }

    /// For an inherent method, only its type. A built-in type has no crate except that of the method: `alloc::str::<impl str>`.
    private mutating func inherent() {
        let begin = text.count
        if cursor.skip("s") { hiding { $0.number() } }
        path()
        if cursor.peek().map({ "CMXYNIB".utf8.contains($0) }) == true {
            text.removeLast(text.count - begin)
            return type()
        }
        show("::<impl ")
        type()
        show(">")
    }

    private mutating func asTrait() {
        show("<")
        type()
        show(" as ")
        path()
        show(">")
    }

    private mutating func member() {
        let space = next()
        path()
        show("::")
        let start = text.count
        identifier()
        // A part without a name: a capital letter shows its kind.
        guard hidden == 0, text.count == start else { return }
        switch space {
        case UInt8(ascii: "C"): show("{{closure}}")
        case UInt8(ascii: "S"): show("{{shim}}")
        default: show("{{member}}")
        }
    }

    /// The place of an implementation: its type is more informative.
    private mutating func implementation() {
        hiding { reader in
            if reader.cursor.skip("s") { reader.number() }
            reader.path()
        }
    }

    private mutating func arguments() {
        while !isDamaged, !cursor.skip("E") {
            if cursor.skip("L") {
                number()
            } else if cursor.skip("K") {
                constant()
            } else {
                type()
            }
        }
    }

    private mutating func type() {
        nested { reader in
            guard let byte = reader.cursor.peek() else {
                reader.isDamaged = true
                return
            }
            reader.cursor.position += 1
            if let basic = Self.basicTypes[byte] { return reader.show(basic) }
            switch byte {
            case UInt8(ascii: "A"), UInt8(ascii: "S"):
                reader.show("[")
                reader.type()
                if byte == UInt8(ascii: "A") { reader.hiding { $0.constant() } }
                reader.show("]")
            case UInt8(ascii: "R"), UInt8(ascii: "Q"), UInt8(ascii: "P"), UInt8(ascii: "O"):
                reader.show(byte == UInt8(ascii: "R") || byte == UInt8(ascii: "Q") ? "&" : "*")
                if reader.cursor.skip("L") { reader.number() }
                reader.type()
            case UInt8(ascii: "T"):
                reader.show("(")
                reader.hiding { $0.arguments() }
                reader.show("…)")
            case UInt8(ascii: "F"):
                reader.show("fn")
                reader.hiding { $0.signature() }
            case UInt8(ascii: "D"): reader.traits()
            case UInt8(ascii: "B"): reader.repeated { $0.type() }
            default:
                reader.cursor.position -= 1
                reader.path()
            }
        }
    }

    private mutating func signature() {
        if cursor.skip("G") { number() }
        _ = cursor.skip("U")
        if cursor.skip("K"), !cursor.skip("C") { word() }
        while !isDamaged, !cursor.skip("E") { type() }
        type()
    }

    private mutating func traits() {
        show("dyn ")
        if cursor.skip("G") { number() }
        var isFirst = true
        while !isDamaged, !cursor.skip("E") {
            if !isFirst { hidden += 1 }
            path()
            while !isDamaged, cursor.skip("p") {
                hiding { reader in
                    reader.word()
                    reader.type()
                }
            }
            if !isFirst { hidden -= 1 }
            isFirst = false
        }
        if cursor.skip("L") { number() } else { isDamaged = true }
    }

    /// A number, character or truth value; other constants, which few names contain, are not read.
    private mutating func constant() {
        if cursor.skip("p") { return }
        if cursor.skip("B") { return repeated { $0.constant() } }
        guard let type = next(), Self.basicTypes[type] != nil else {
            isDamaged = true
            return
        }
        while let byte = next(), byte != UInt8(ascii: "_") {}
    }

    /// Reads again what is at an earlier place.
    private mutating func repeated(_ body: (inout RustPathReader) -> Void) {
        let place = number()
        // Places are counted from after `_R`.
        guard let place, place < cursor.position - cursor.text.startIndex else {
            isDamaged = true
            return
        }
        let end = cursor.position
        cursor.position = cursor.text.startIndex + place
        nested(body)
        cursor.position = end
    }

    /// A number in base 62 followed by `_`; `_` alone is 0.
    @discardableResult
    private mutating func number() -> Int? {
        if cursor.skip("_") { return 0 }
        var value = 0
        while let byte = next() {
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "_"): return value + 1
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = byte - UInt8(ascii: "A") + 36
            default:
                isDamaged = true
                return nil
            }
            // A crate's hash has 64 bits; overflow does not matter.
            value = (value &* 62 &+ Int(digit)) & (Int.max >> 1)
        }
        return nil
    }

    private mutating func identifier() {
        if cursor.skip("s") { number() }
        word()
    }

    private mutating func word() {
        // Letters outside ASCII stay encoded (RFC 3492).
        _ = cursor.skip("u")
        var count = 0
        guard let first = cursor.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            isDamaged = true
            return
        }
        while let byte = cursor.peek(), (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), count <= Self.maximumTextBytes {
            count = count * 10 + Int(byte - UInt8(ascii: "0"))
            cursor.position += 1
            // A leading zero is the whole number.
            if count == 0 { break }
        }
        _ = cursor.skip("_")
        guard count <= cursor.rest.count else {
            isDamaged = true
            return
        }
        show(cursor.rest.prefix(count))
        cursor.position += count
    }
}
