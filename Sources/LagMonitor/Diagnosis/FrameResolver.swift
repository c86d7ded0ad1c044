package import LagModel

/// Names for frames, and on request their lines and inlined functions. **For the reporter thread only.**
///
/// Without a ``LineSource`` it starts no child and costs what ``Symbolizer`` costs.
package struct FrameResolver: Sendable {
    private var symbolizer: Symbolizer
    private var lines: (any LineSource)?

    /// Looks up the demanglers, which takes the loader's lock: create it at start.
    /// - Parameters:
    ///   - symbolizer: for the names.
    ///   - lines: for files, lines and inlined functions; nil: only names.
    package init(symbolizer: Symbolizer = Symbolizer(), lines: (any LineSource)? = nil) {
        self.symbolizer = symbolizer
        self.lines = lines
    }

    /// ``LineSource/hasOnlyFailed``
    package var hasNoWorkingLines: Bool { lines?.hasOnlyFailed ?? false }

    /// Cuts waits for lines short, from any thread; nil if there are no lines to wait for.
    package var waitLimit: SharedDeadline? { lines?.waitLimit }

    /// The levels of each query's frame, leaf first: inlined functions, and as the last one the function itself, whose name comes
    /// from the symbol table with or without lines. Empty if nothing is known.
    ///
    /// Fingerprints use only the last levels: the others depend on lines and optimisation.
    /// - Parameter withLines: whether lines are requested, if a symbolizer knows them.
    package mutating func frames(for queries: [SymbolQuery], withLines: Bool = true) -> [[ResolvedFrame]] {
        let symbols = symbolizer.resolve(queries)
        guard withLines, let levels = lines?.levels(for: queries) else {
            return symbols.map { $0.map { [ResolvedFrame($0)] } ?? [] }
        }
        return zip(symbols, levels).map(Self.merged)
    }

    /// The function at an address by its lines, without its name in the symbol table; nil if its module has no lines.
    package mutating func line(of query: SymbolQuery) -> ResolvedFrame? { lines?.levels(for: [query]).first?.last }

    /// ``Symbolizer/successor(of:)``
    package mutating func successor(of function: SymbolQuery) -> ResolvedFrame? {
        symbolizer.successor(of: function).map { ResolvedFrame($0) }
    }

    /// Ends the child that looks up lines, if there is one; the next query that needs it starts another.
    package mutating func close() { lines?.close() }

    private static func merged(_ symbol: ResolvedSymbol?, _ levels: [ResolvedFrame]) -> [ResolvedFrame] {
        guard let symbol else { return levels.filter { !$0.lacksLines } }
        var levels = levels.isEmpty ? [ResolvedFrame()] : levels
        let last = levels.count - 1
        levels[last].name = symbol.name
        levels[last].simplified = symbol.simplified
        levels[last].mangled = symbol.mangled
        levels[last].symbolOffset = symbol.symbolOffset
        levels[last].start = symbol.start
        levels[last].isFolded = symbol.isFolded
        levels[last].isOfRuntime = symbol.isOfRuntime
        levels[last].origin = symbol.origin
        levels[last].callees = symbol.callees.map { ResolvedFrame($0) }
        levels[last].callsPointer = symbol.callsPointer
        return levels
    }
}
