/// What the name that a linker or compiler gives to an object file shows.
enum ObjectName {
    /// Suffixes of archive members from make, libtool, ICU, SCons and CMake on other systems.
    private static let objectSuffixes = [".o", ".ao", ".lo", ".os", ".obj"]
    private static let swiftSuffixes = [".swift.o", ".swiftmodule.o"]
    /// Objects of the linker's own optimiser, which combine all sources.
    private static let optimisedObjects: Set<String> = ["ld-temp.o", "lto.o"]
    /// Start-up code, which is linked around everything.
    private static let startUpObjects: Set<String> = [
        "crtstuff.c", "crt1.c", "Scrt1.c", "rcrt1.c", "crt1.o", "Scrt1.o", "rcrt1.o", "gcrt1.o", "grcrt1.o", "crti.o", "crtn.o",
    ]
    /// What compilers generate to initialise a file's variables; it has a section of its own.
    private static let initialiserPrefixes = ["_GLOBAL__", "__cxx_global_"].map { Array($0.utf8) }
    private static let haskellSuffix = Array("_info".utf8)

    /// The origin of an object of this name.
    static func origin(_ name: String) -> CodeOrigin {
        // With its folder: an object that was linked directly, not a member of an archive.
        let baseName = name.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(name[name.index(after: $0)...]) }
        if startUpObjects.contains(baseName ?? name) { return .unknown }
        if baseName != nil || swiftSuffixes.contains(where: name.hasSuffix) { return .own }
        return objectSuffixes.contains(where: name.hasSuffix) && !optimisedObjects.contains(name) ? .packaged : .own
    }

    static func isInitialiser(_ function: [UInt8]) -> Bool {
        initialiserPrefixes.contains { function.starts(with: $0) }
    }

    /// Whether a function belongs to a language whose compiler writes no source name: Swift, Haskell.
    static func lacksSource(_ function: [UInt8]) -> Bool {
        if function.starts(with: "$s".utf8) || function.starts(with: "$S".utf8) { return true }
        // GHC's own names are a letter and a number in base 62, `r3Ab_info`; a C function may be called `file_info`.
        let unique = function.dropLast(haskellSuffix.count)
        guard (3...8).contains(unique.count), function.suffix(haskellSuffix.count).elementsEqual(haskellSuffix) else {
            return false
        }
        let lower = UInt8(ascii: "a")...UInt8(ascii: "z")
        return unique.allSatisfy { $0 != UInt8(ascii: "_") } && unique.contains { !lower.contains($0) }
    }
}
