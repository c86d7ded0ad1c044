internal import LagModel

/// A language whose compilers link its library into each program: recognised by the names of its functions in the symbol table.
///
/// Some of these have prefixes that any program's functions may have (`system__load` of C, `caml_weight`): they count only in a
/// file that has the start function of the language's programs.
enum CompiledLibraries: CaseIterable {
    case d, ocaml, ada, pascal, nim

    /// Names that no other language's compiler generates.
    private static let names = PrefixSet([
        // druntime and Phobos.
        "_D4core", "_D3std", "_D2rt", "_D2gc", "_D6object",
        "camlStdlib", "camlUnix", "camlCamlinternal", "camlStr__", "camlThread__", "camlMutex__", "camlCondition__",
        "camlEvent__", "camlDynlink",
        "__gnat_",
        "SYSTEM_$$_", "SYSTEM$_$", "SYSUTILS_$$_", "SYSUTILS$_$", "CLASSES_$$_", "CLASSES$_$", "STRUTILS_$$_", "MATH_$$_",
        "DATEUTILS_$$_", "VARIANTS_$$_", "BASEUNIX_$$_", "UNIX_$$_", "LINUX_$$_", "CTHREADS_$$_",
    ])

    private static let plainNames: [(CompiledLibraries, PrefixSet)] = [
        (.d, PrefixSet(["_d_", "_aa", "gc_"])), (.ocaml, PrefixSet(["caml_", "unix_"])), (.pascal, PrefixSet(["fpc_", "FPC_"])),
        (.ada, PrefixSet(["ada__", "gnat__", "interfaces__", "system__"])),
        // Nim's exported names: of its memory, texts and errors, of `strutils`, `parseutils` and `os`.
        (
            .nim,
            PrefixSet([
                "nimGC", "nimNew", "nimPrepare", "nimToCString", "newObj", "newSeq", "mnewString", "rawNewString", "copyString",
                "setLengthStr", "setLengthSeq", "incrSeq", "appendString", "genericAssign", "genericReset", "genericSeqAssign",
                "unsureAsgnRef", "asgnRef", "raiseExceptionEx", "reraiseException", "cstrToNimstr", "resizeString", "npu", "nsu",
                "nos",
            ])
        ),
    ]

    /// For all other functions, Nim's compiler writes the module after the name, with its folder: `sort__pureZalgorithm_12`,
    /// `load__shop_7`.
    private static let nimModules = ["__system_", "__systemZ", "__pureZ", "__stdZ"]

    private static func isPlainName(_ rawName: String, in languages: [CompiledLibraries]) -> Bool {
        let isOfModule = rawName.contains("__")
        if isOfModule, languages.contains(.nim), nimModules.contains(where: { rawName.contains($0) }) { return true }
        return plainNames.contains { language, names in
            languages.contains(language) && !(language == .nim && isOfModule) && names.holdsPrefix(of: rawName)
        }
    }

    /// The function with which a program of the language begins: from druntime, OCaml's runtime, GNAT's binder, Free Pascal,
    /// Nim's compiler.
    private var starts: [String] {
        switch self {
        // A library with its own runtime does not have a program's start function.
        case .d: ["_Dmain", "rt_init"]
        case .ocaml: ["caml_start_program"]
        case .ada: ["adainit"]
        case .pascal: ["PASCALMAIN"]
        case .nim: ["NimMain"]
        }
    }

    /// - Parameter languages: the languages of the file, as far as a name depends on that (``mayHold(_:)``).
    static func holds(_ rawName: String, in languages: [CompiledLibraries]) -> Bool {
        names.holdsPrefix(of: rawName) || isPlainName(rawName, in: languages)
    }

    /// Whether a name is a library's in some programs, and any function's in others.
    static func mayHold(_ rawName: String) -> Bool { isPlainName(rawName, in: allCases) }

    private static let maximumStringBytes: UInt64 = 64 << 20

    /// The languages whose start functions a file contains. Reads the table and its names once: some milliseconds for a hundred
    /// thousand symbols.
    static func languages(in file: borrowing ELFFile, table: ELFFile.Section) -> [CompiledLibraries] {
        guard table.link < file.sections.count else { return [] }
        let section = file.sections[Int(table.link)]
        guard section.size <= maximumStringBytes,
            let strings = file.source.bytes(at: section.offset, count: Int(section.size))
        else { return [] }
        let starts: [(CompiledLibraries, [UInt8])] = allCases.flatMap { language in
            language.starts.map { name in (language, Array(name.utf8) + [0]) }
        }
        var found: [CompiledLibraries] = []
        file.forEachSymbol(of: table) { symbol in
            guard symbol.isFunction else { return true }
            let name = strings.dropFirst(Int(symbol.nameOffset))
            for (language, start) in starts where name.first == start[0] && name.starts(with: start) {
                if !found.contains(language) { found.append(language) }
            }
            return true
        }
        return found
    }
}
