/// Reads Rust names in the first mangling, as a C++ demangler prints them: a path of the Itanium ABI whose last part is a hash.
///
///     shop::resize::h47fc215f55c201d9                                                     shop::resize
///     _$LT$shop..Cart$u20$as$u20$core..fmt..Display$GT$::fmt::h0123456789abcdef           <shop::Cart as core::fmt::Display>::fmt
///
/// The hash changes with each version of the package and of the compiler. Source: `compiler/rustc_symbol_mangling/src/legacy.rs`.
enum RustNameReader {
    private static let hashDigits = 16
    private static let escapes: [(StaticString, StaticString)] = [
        ("$SP$", "@"), ("$BP$", "*"), ("$RF$", "&"), ("$LT$", "<"), ("$GT$", ">"), ("$LP$", "("), ("$RP$", ")"), ("$C$", ","),
        ("..", "::"),
    ]

    /// Nil if it is not such a name.
    static func simplified(_ name: [UInt8]) -> [UInt8]? {
        let hash = name.suffix(hashDigits)
        let path = name.dropLast(hash.count)
        guard hash.count == hashDigits, hash.allSatisfy("0123456789abcdef".utf8.contains), path.count > 3,
            path.suffix(3).elementsEqual("::h".utf8)
        else { return nil }
        var cursor = NameCursor(path.dropLast(3))
        var text: [UInt8] = []
        while let byte = cursor.peek() {
            let isAtPart = text.isEmpty || text.suffix(2).elementsEqual("::".utf8)
            if isAtPart, byte == UInt8(ascii: "_"), cursor.peek(1) == UInt8(ascii: "$") {
                // A part does not begin with an escape.
                cursor.position += 1
            } else if let (_, plain) = escapes.first(where: { cursor.skip($0.0) }) {
                plain.withUTF8Buffer { text.append(contentsOf: $0) }
            } else if let code = character(&cursor) {
                text.append(code)
            } else {
                text.append(byte)
                cursor.position += 1
            }
        }
        return text
    }

    /// `$u20$`: characters that are printed in ASCII.
    private static func character(_ cursor: inout NameCursor) -> UInt8? {
        var ahead = cursor
        guard ahead.skip("$u") else { return nil }
        var digits: [UInt8] = []
        while let byte = ahead.peek(), byte != UInt8(ascii: "$"), digits.count < 3 {
            digits.append(byte)
            ahead.position += 1
        }
        guard ahead.skip("$"), let code = UInt8(String(decoding: digits, as: UTF8.self), radix: 16), (0x20..<0x7f).contains(code)
        else { return nil }
        cursor = ahead
        return code
    }

    /// Whether a name in a symbol table is a Rust name, in either mangling.
    static func isRust(_ rawName: String) -> Bool {
        if rawName.hasPrefix("_R") { return true }
        // `…17h47fc215f55c201d9E`, followed by LLVM's addition.
        let name = rawName.firstRange(of: ".llvm.").map { rawName[..<$0.lowerBound] } ?? rawName[...]
        let end = Array(name.utf8.suffix(hashDigits + 4))
        return name.hasPrefix("_ZN") && end.count == hashDigits + 4 && end.starts(with: "17h".utf8)
            && end.last == UInt8(ascii: "E")
            && end[3...].dropLast().allSatisfy("0123456789abcdef".utf8.contains)
    }

    /// The crate of a function.
    static func crate(of name: String) -> String {
        let path = path(in: name)
        return path.firstRange(of: "::").map { String(path[..<$0.lowerBound]) } ?? path
    }

    /// The path that shows the origin: for a method of a type, `<shop::Cart as core::fmt::Display>::fmt`, the type's path; if the
    /// type is a generic parameter, the trait's path. Other names are unchanged.
    static func path(in name: String) -> String {
        guard name.hasPrefix("<") else { return name }
        let parts = name.split(separator: " as ", maxSplits: 1)
        let paths = parts.map { part in
            ["mut ", "const ", "dyn "].reduce(part.drop { "<&*[( ".contains($0) }) { $0.trimmingPrefix($1) }
        }
        return String(paths.first { $0.contains("::") } ?? paths.last ?? name[...])
    }
}
