/// What information a file of machine code has about addresses.
///
/// Any thread; reads some kilobytes.
package struct BinarySummary: Sendable, Hashable {
    /// Lower-case hex.
    package let buildID: String
    /// Files and lines (DWARF's `.debug_line`).
    package let hasLines: Bool
    /// The names of all functions (`.symtab`), not just of the exported ones.
    package let hasSymbols: Bool

    /// Nil if there is no readable ELF file with a build-id at `path`.
    package init?(path: String) {
        guard let source = ByteSource(path: path), let file = ELFFile(source), let id = file.buildID else { return nil }
        buildID = id
        hasLines = !file.sectionNames().isDisjoint(with: SymbolFiles.lineSections)
        hasSymbols = file.sections.contains { $0.type == ELFFile.SectionType.symbolTable }
    }
}
