/// Detects when the file of a module without a Build ID was replaced: answers about it are cached by its path.
package struct ReplacedFiles: Sendable {
    private static let maximumFiles = 256

    private var known: [String: FileIdentity] = [:]

    package init() {}

    /// Whether one of these modules' files is a different one than at the last call.
    package mutating func contains(oneOf queries: [SymbolQuery], _ files: SymbolFiles) -> Bool {
        var isReplaced = false
        for module in Set(queries.lazy.filter(\.buildID.isEmpty).map(SymbolFiles.Module.init)) {
            guard let identity = files.identity(of: module) else { continue }
            if known.count >= Self.maximumFiles, known[module.path] == nil {
                // Answers about modules that are forgotten here must be discarded.
                known = [:]
                isReplaced = true
            }
            if let last = known.updateValue(identity, forKey: module.path), last != identity { isReplaced = true }
        }
        return isReplaced
    }
}
