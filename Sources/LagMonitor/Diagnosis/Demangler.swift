internal import CLagLinux
internal import Glibc

/// Demangles the names of symbol tables, with the demanglers that the process already has.
package struct Demangler: Sendable {
    /// Longer names are not demangled: the demanglers' time and depth grow with them.
    private static let maximumMangledBytes = 8192
    /// libstdc++'s demangler does not accept longer names; for these, only the path is read here.
    private static let maximumCPlusPlusBytes = 1024

    private let cxaDemangle: cll_cxa_demangle?

    /// Looks up a C++ demangler, under the loader's lock, and calls both demanglers once, so that no later call has to bind a
    /// symbol. Call it at start, not while a thread may hang in the loader.
    package init() {
        cxaDemangle = cll_find_cxa_demangle()
        _ = demangle("$sSi")
        _ = demangle("_Z1fv")
    }

    /// The demangled name (only the path of a very long C++ name) and its language; the name itself if its mangling is not
    /// supported.
    package func demangle(_ rawName: String) -> (name: String, language: SymbolLanguage) {
        if rawName.utf8.count > Self.maximumCPlusPlusBytes, let path = ItaniumPathReader.path(of: rawName) {
            return (path, .cPlusPlus)
        }
        guard rawName.utf8.count <= Self.maximumMangledBytes else { return (rawName, .c) }
        if Self.looksLikeSwift(rawName), let name = swift(rawName) { return (name, .swift) }
        if rawName.hasPrefix("_Z"), let name = cPlusPlus(rawName) { return (name, .cPlusPlus) }
        if rawName.hasPrefix("_R"), let path = RustPathReader.path(of: rawName) { return (path, .c) }
        if rawName.hasPrefix("_D"), let path = DNameReader.path(of: rawName) { return (path, .c) }
        return (rawName, .c)
    }

    private static func looksLikeSwift(_ name: String) -> Bool {
        name.hasPrefix("$s") || name.hasPrefix("_$s") || name.hasPrefix("$S") || name.hasPrefix("_$S")
            || name.hasPrefix("_T") || name.hasPrefix("$e") || name.hasPrefix("_$e")
    }

    private func swift(_ mangled: String) -> String? {
        var mangled = mangled
        return mangled.withUTF8 { bytes -> String? in
            bytes.withMemoryRebound(to: CChar.self) { Self.taking(swift_demangle($0.baseAddress, $0.count, nil, nil, 0)) }
        }
    }

    private func cPlusPlus(_ mangled: String) -> String? {
        guard let cxaDemangle else { return nil }
        // LLVM adds this to a name that several units of a program share under whole-program optimisation: not a part of the
        // mangling.
        let mangled = mangled.firstRange(of: ".llvm.").map { String(mangled[..<$0.lowerBound]) } ?? mangled
        return mangled.withCString { Self.taking(cxaDemangle($0, nil, nil, nil)) }
    }

    /// A string of a demangler, which must be freed here.
    private static func taking(_ text: UnsafeMutablePointer<CChar>?) -> String? {
        guard let text else { return nil }
        defer { free(text) }
        return String(cString: text)
    }
}

/// The language whose rules a demangled name follows.
package enum SymbolLanguage: Sendable {
    case swift
    case cPlusPlus
    case c
}
