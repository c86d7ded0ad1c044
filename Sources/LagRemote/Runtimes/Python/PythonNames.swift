internal import LagCapture
internal import LagModel

/// Names of CPython's code objects, and their line tables, cached by the object's address and content.
final class PythonNames: Sendable {
    private struct Function: Sendable {
        let name: String
        /// Empty: the program compiled it without a name.
        let file: String
        let lines: PythonLineTable
        let variant: String?
        let isLibrary: Bool?
    }

    private struct Key: Hashable {
        let code: UInt64
        let check: UInt64
    }

    /// The maximum of cached functions; then all are read again.
    private static let capacity = 2048

    private let memory: RemoteMemory
    private let layout: PythonLayout
    private let type: UInt64
    private let bundle: PythonBundle?
    private let known = PthreadMutex<[Key: Function]>([:])

    /// - Parameter bundle: the bundle that the program may be; nil: none.
    init(_ memory: RemoteMemory, _ layout: PythonLayout, type: UInt64, bundle: PythonBundle? = nil) {
        self.bundle = bundle
        self.memory = memory
        self.layout = layout
        self.type = type
    }

    /// - Parameter frame: its position is the instruction's number plus one.
    func name(_ frame: LanguageFrame) -> LanguageFrameName? {
        let key = Key(code: frame.code, check: frame.check)
        guard let function = known.withLock({ $0[key] }) ?? read(key) else { return nil }
        var found = LanguageFrameName(
            language: "python",
            function: function.name,
            file: function.file.isEmpty ? nil : function.file,
            line: function.lines.line(ofInstruction: Int(clamping: frame.position) - 1),
            isLibrary: function.isLibrary
        )
        found.variant = function.variant
        return found
    }

    /// For lambdas, and for comprehensions before 3.12: the names that they use. Some functions have several, all with the same
    /// name.
    private static let anonymous = ["<lambda>", "<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>"]
    private static let maximumUsedNames: UInt64 = 32

    private func read(_ key: Key) -> Function? {
        let text = PythonText(memory: memory, layout: layout)
        guard let code = code(key), let name = text.string(code.qualifiedName, limit: PythonText.maximumNameCharacters),
            let file = text.string(code.fileName, least: 0, limit: PythonText.maximumPathCharacters),
            let table = text.bytes(code.lineTable)
        else { return nil }
        // The data is only consistent if the object still exists.
        let isAnonymous = Self.anonymous.contains { name.hasSuffix($0) }
        let used = isAnonymous ? text.strings(code.names, count: Self.maximumUsedNames) : []
        guard self.code(key) != nil else { return nil }
        let function = Function(
            name: name,
            file: file,
            lines: PythonLineTable(bytes: table, firstLine: code.firstLine),
            variant: used.isEmpty ? nil : used.joined(separator: " "),
            isLibrary: file.isEmpty ? false : bundle?.isLibrary(file)
        )
        known.withLock { known in
            if known.count >= Self.capacity { known.removeAll() }
            known[key] = function
        }
        return function
    }

    private func code(_ key: Key) -> PythonCode? {
        PythonCode(memory, layout, type: type, at: key.code).flatMap { $0.check == key.check ? $0 : nil }
    }
}
