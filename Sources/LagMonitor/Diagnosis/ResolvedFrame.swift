/// One level of a frame: the function itself, or one that the compiler inlined into it at this place.
package struct ResolvedFrame: Sendable, Equatable {
    /// The full name, demangled if possible; nil if only the place is known.
    package var name: String?
    /// The short stable name from ``SymbolSimplifier``.
    package var simplified: String?
    /// The name in the file, if it differs from ``name``.
    package var mangled: String?
    /// Bytes from the function's start to the query's `offset`; nil for an inlined level.
    package var symbolOffset: UInt64?
    /// ``ResolvedSymbol/start``; nil if there is no symbol.
    package var start: UInt64?
    /// The source file, as the compiler recorded it.
    package var file: String?
    /// Counted from 1; nil for compiler-generated code.
    package var line: Int?
    /// Counted from 1; nil if it is not known.
    package var column: Int?
    /// The function was inlined into that of the next level; false for the last level.
    package var isInlined: Bool
    /// The module's line tables were read, but do not contain this code: it was compiled elsewhere, like a static program's
    /// libraries.
    package var lacksLines = false
    /// ``ResolvedSymbol/isFolded``.
    package var isFolded = false
    /// ``ResolvedSymbol/isOfRuntime``.
    package var isOfRuntime = false
    /// ``ResolvedSymbol/origin``.
    package var origin = CodeOrigin.unknown
    /// ``ResolvedSymbol/callees``.
    package var callees: [ResolvedFrame] = []
    /// ``ResolvedSymbol/callsPointer``.
    package var callsPointer = false

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

    /// What distinguishes it from other functions of its simplified name. In Swift that name contains the closure's number, and a
    /// function's specialisation depends on the optimiser.
    package var variant: String? {
        guard let name, let mangled, mangled.hasPrefix("_Z") else { return nil }
        return CPlusPlusNameReader.variant(name)
    }

    package var isRust: Bool { mangled.map(RustNameReader.isRust) ?? false }

    /// Whether neither a line nor the language shows the code's origin (``ObjectFiles/saysOrigin(of:)``).
    package var hasUnknownSource: Bool { file == nil && (mangled ?? name).map(ObjectFiles.saysOrigin) ?? false }

    /// Whether Swift's compiler generated it to forward a call: to a closure with its captures, or to a protocol's or a class's
    /// method.
    package var isForwarder: Bool { !isInlined && name.map(SwiftNameReader.isForwarder) ?? false }

    /// A name without a place.
    package init(_ symbol: ResolvedSymbol) {
        self.init(
            name: symbol.name,
            simplified: symbol.simplified,
            mangled: symbol.mangled,
            symbolOffset: symbol.symbolOffset
        )
        start = symbol.start
        isFolded = symbol.isFolded
        isOfRuntime = symbol.isOfRuntime
        origin = symbol.origin
        callees = symbol.callees.map { ResolvedFrame($0) }
        callsPointer = symbol.callsPointer
    }

    /// Its name in a record. If a program's own functions were folded into one, the name shows that.
    package func symbol(inApp: Bool) -> String? {
        isFolded && inApp ? simplified.map { FrameRole.mergedPrefix + $0 } : simplified
    }
}

extension Array: SymbolCacheValue where Element == ResolvedFrame {
    package var heapBytes: Int {
        reduce(isEmpty ? 0 : 32) { bytes, level in
            bytes + MemoryLayout<ResolvedFrame>.stride + (level.name?.heapBytes ?? 0) + (level.simplified?.heapBytes ?? 0)
                + (level.mangled?.heapBytes ?? 0) + (level.file?.heapBytes ?? 0) + level.callees.heapBytes
        }
    }
}
