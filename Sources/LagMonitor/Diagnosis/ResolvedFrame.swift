/// One level of a frame: the function itself, or one that the compiler put into it at this place.
package struct ResolvedFrame: Sendable, Hashable {
    /// The full name, demangled where it could be; nil where only the place is known.
    package var name: String?
    /// The short stable name that ``SymbolSimplifier`` makes of it.
    package var simplified: String?
    /// The name as the file has it, when it is not ``name``.
    package var mangled: String?
    /// Bytes from the function's first one to the query's `offset`; nil for an inlined level.
    package var symbolOffset: UInt64?
    /// The source file, as the compiler wrote it down.
    package var file: String?
    /// Counted from 1; nil where the compiler made the code itself.
    package var line: Int?
    /// Counted from 1; nil where it is not known.
    package var column: Int?
    /// The function was put into the next level's one; false for the last level.
    package var isInlined: Bool
    /// The module's line tables were read, and leave this code out: it was compiled elsewhere, as what a static program has of its libraries is.
    package var lacksLines = false
    /// ``ResolvedSymbol/isFolded``.
    package var isFolded = false
    /// ``ResolvedSymbol/isOfRuntime``.
    package var isOfRuntime = false
    /// ``ResolvedSymbol/origin``.
    package var origin = CodeOrigin.unknown

    package init(
        name: String? = nil,
        simplified: String? = nil,
        mangled: String? = nil,
        symbolOffset: UInt64? = nil,
        file: String? = nil,
        line: Int? = nil,
        column: Int? = nil,
        isInlined: Bool = false
    ) {
        self.name = name
        self.simplified = simplified
        self.mangled = mangled
        self.symbolOffset = symbolOffset
        self.file = file
        self.line = line
        self.column = column
        self.isInlined = isInlined
    }

    /// What tells it from other functions of its simplified name. Of Swift that name says which closure it is, and what a function was specialised
    /// for comes and goes with the optimiser.
    package var variant: String? {
        guard let name, let mangled, mangled.hasPrefix("_Z") else { return nil }
        return CPlusPlusNameReader.variant(name)
    }

    package var isRust: Bool { mangled.map(RustNameReader.isRust) ?? false }

    /// Whether neither a line nor the language says whose code it is (``ObjectFiles/saysOrigin(of:)``).
    package var hasUnknownSource: Bool { file == nil && (mangled ?? name).map(ObjectFiles.saysOrigin) ?? false }

    /// Whether Swift's compiler made it to pass a call on: to a closure with what that captured, to a protocol's or a class's method.
    package var isForwarder: Bool { !isInlined && name.map(SwiftNameReader.isForwarder) ?? false }

    /// A name without a place.
    package init(_ symbol: ResolvedSymbol) {
        self.init(
            name: symbol.name,
            simplified: symbol.simplified,
            mangled: symbol.mangled,
            symbolOffset: symbol.symbolOffset
        )
        isFolded = symbol.isFolded
        isOfRuntime = symbol.isOfRuntime
        origin = symbol.origin
    }

    /// What it is called in a record. Of a program's own functions that were folded into one, the name says so.
    package func symbol(inApp: Bool) -> String? {
        isFolded && inApp ? simplified.map { FrameRole.mergedPrefix + $0 } : simplified
    }
}

extension Array: SymbolCacheValue where Element == ResolvedFrame {
    package var heapBytes: Int {
        reduce(isEmpty ? 0 : 32) { bytes, level in
            bytes + MemoryLayout<ResolvedFrame>.stride + (level.name?.heapBytes ?? 0) + (level.simplified?.heapBytes ?? 0)
                + (level.mangled?.heapBytes ?? 0) + (level.file?.heapBytes ?? 0)
        }
    }
}
