/// A function of a language, as its runtime names it.
package struct LanguageFrameName: Sendable, Hashable {
    /// `python`, `javascript`, `go`, `ruby`, `php`, …; nil: it has a name, but belongs to no language.
    package var language: String?
    /// The function, with its enclosing scopes: `Shop.checkout`, `load.<locals>.<lambda>`.
    package var function: String
    /// The name by which stalls are compared and blamed: the same for every build of the runtime, and without a line.
    package var symbol: String
    /// For a function without a name: distinguishes it from others with its symbol; the same for every build of the runtime.
    package var variant: String?
    /// The source file, as the runtime names it.
    package var file: String?
    /// Counted from 1.
    package var line: Int?
    /// Whether it is not the program's own code: the language's library, the runtime, a dependency. Nil: the file decides.
    package var isLibrary: Bool?

    /// - Parameter symbol: nil: the function, and the file without its folders.
    package init(
        language: String?,
        function: String,
        symbol: String? = nil,
        file: String? = nil,
        line: Int? = nil,
        isLibrary: Bool? = nil
    ) {
        self.language = language
        self.function = function
        self.symbol = symbol ?? Self.symbol(function, file)
        self.file = file
        self.line = line
        self.isLibrary = isLibrary
    }

    private static func symbol(_ function: String, _ file: String?) -> String {
        guard let file, !file.isEmpty else { return function }
        let base = file.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(file[file.utf8.index(after: $0)...]) } ?? file
        return base.isEmpty ? function : "\(function) (\(base))"
    }
}
