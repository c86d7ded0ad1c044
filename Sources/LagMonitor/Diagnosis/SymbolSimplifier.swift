internal import LagModel

/// Short, stable names of functions: no arguments, generics, return types, closure numbers, and never `->`, at which flame-graph
/// tools split (an operator that contains it, `-->`, is written with an arrow character).
///
/// Any thread. The input is a demangler's output; other text is returned with little or no change. Never fails; takes time in
/// proportion to the name.
package enum SymbolSimplifier {
    /// `App.Worker.render` of `App.Worker.render<A>(A, fast: Swift.Bool) throws -> ()`.
    /// - Parameter name: the demangled name; for ``SymbolLanguage/c`` the name in the symbol table.
    package static func simplify(_ name: String, language: SymbolLanguage) -> String {
        let bytes = Array(name.utf8)
        var short: [UInt8] =
            switch language {
            case .swift: SwiftNameReader.simplified(bytes[...])
            case .cPlusPlus: RustNameReader.simplified(bytes) ?? CPlusPlusNameReader.simplified(bytes[...])
            case .c: plainC(bytes)
            }
        if short.isEmpty { short = bytes }
        let text = harmless(short)
        return language == .c ? CgoName.withoutHash(text) : text
    }

    /// Marks before a compiler's number: gcc's and LLVM's clones, parts and functions made local, and bodies of OpenMP's regions.
    private static let numberedMarks: [StaticString] = [
        "part", "__part", "isra", "constprop", "cold", "llvm", "__uniq", "lto_priv", "localalias", "simdclone", "specialized",
        "_omp_fn", "omp_outlined", "omp_outlined_debug__",
    ]
    private static let marks: [StaticString] = [
        "cold", "localalias", "omp_outlined", "omp_outlined_debug__", "resolver", "default", "",
    ]

    /// Without the version (`malloc@@GLIBC_2.2.5`), without compilers' additions to parts and clones (`run.cold`, `run.part.0`,
    /// `run.llvm.123`), and without the mark of a part of an async function that has a C name (`async_MainTQ0_`). Other dots
    /// belong to the name: `main.price` of Go and Zig, `camlShop.price_270` of OCaml.
    private static func plainC(_ name: [UInt8]) -> [UInt8] {
        var rest = name[..<(name.dropFirst().firstIndex(of: UInt8(ascii: "@")) ?? name.endIndex)]
        while let (word, shorter) = cut(rest) {
            let isNumber = !word.isEmpty && word.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains)
            if isNumber {
                rest = shorter
                if let (mark, base) = cut(shorter), numberedMarks.contains(where: mark.elementsEqual) { rest = base }
            } else if marks.contains(where: word.elementsEqual) {
                rest = shorter
            } else {
                break
            }
        }
        return withoutResumeMark(Array(rest))
    }

    /// The text after the last dot, and the text before it.
    private static func cut(_ name: ArraySlice<UInt8>) -> (word: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
        guard let dot = name.dropFirst().lastIndex(of: UInt8(ascii: ".")) else { return nil }
        return (name[(dot + 1)...], name[..<dot])
    }

    /// `TQ` or `TY`, a number, `_`: "await resume" and "suspend resume partial function" in `Mangling.rst` of the Swift compiler.
    private static func withoutResumeMark(_ name: [UInt8]) -> [UInt8] {
        guard name.last == UInt8(ascii: "_") else { return name }
        let rest = name.dropLast()
        guard let mark = rest.lastIndex(where: { !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), mark >= 2,
            mark < rest.endIndex - 1, rest[mark] == UInt8(ascii: "Q") || rest[mark] == UInt8(ascii: "Y"),
            rest[mark - 1] == UInt8(ascii: "T")
        else { return name }
        return Array(rest[..<(mark - 1)])
    }

    /// Without the separators of folded stacks: `->` and `;`.
    private static func harmless(_ name: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(name.count)
        for byte in name {
            if byte == UInt8(ascii: ">"), text.last == UInt8(ascii: "-") {
                text.removeLast()
                text.append(contentsOf: "→".utf8)
            } else {
                text.append(byte == UInt8(ascii: ";") ? UInt8(ascii: ",") : byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// A position in a demangled name, with the few movements that both languages need.
struct NameCursor {
    let text: ArraySlice<UInt8>
    var position: Int

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        position = text.startIndex
    }

    var isAtEnd: Bool { position >= text.endIndex }
    /// The text from the position on; empty if a movement led beyond the end.
    var rest: ArraySlice<UInt8> { text[min(position, text.endIndex)...] }

    func peek(_ distance: Int = 0) -> UInt8? {
        let place = position + distance
        return place >= text.startIndex && place < text.endIndex ? text[place] : nil
    }

    func isAt(_ word: StaticString) -> Bool { rest.starts(with: word) }

    /// Moves past `word` if it is next.
    mutating func skip(_ word: StaticString) -> Bool {
        guard isAt(word) else { return false }
        position += word.utf8CodeUnitCount
        return true
    }

    /// Moves past brackets that begin here, to their matching end or to the end of the text. The `>` of an arrow does not close
    /// them, nor does one in parentheses: `enable_if<((4)>(1))>`.
    mutating func skipBrackets(_ open: UInt8, _ close: UInt8) {
        var depth = 0
        while let byte = peek() {
            if open == UInt8(ascii: "<"), byte == UInt8(ascii: "(") {
                skipParentheses()
                continue
            }
            if byte == open {
                depth += 1
            } else if byte == close, !(byte == UInt8(ascii: ">") && peek(-1) == UInt8(ascii: "-")) {
                depth -= 1
            }
            position += 1
            if depth == 0 { return }
        }
    }

    mutating func skipAngles() { skipBrackets(UInt8(ascii: "<"), UInt8(ascii: ">")) }
    mutating func skipParentheses() { skipBrackets(UInt8(ascii: "("), UInt8(ascii: ")")) }
}

extension Sequence<UInt8> {
    func starts(with word: StaticString) -> Bool {
        word.withUTF8Buffer { starts(with: $0) }
    }

    func elementsEqual(_ word: StaticString) -> Bool {
        word.withUTF8Buffer { elementsEqual($0) }
    }
}
