/// An address to find a name for.
public struct SymbolQuery: Sendable, Hashable {
    /// The file's path as the memory map names it; `[vdso]` is the kernel's image in this process.
    public var modulePath: String
    /// The build-id of what is mapped, hex; empty when it is not known.
    public var buildID: String
    /// The ELF virtual address: the address in the process less the load bias.
    public var offset: UInt64
    /// The address is the one *after* a call: the call itself is looked up, for a call at a function's very end (to a
    /// function that never returns) has its return address in the next function.
    public var isReturnAddress: Bool

    public init(modulePath: String, buildID: String, offset: UInt64, isReturnAddress: Bool) {
        self.modulePath = modulePath
        self.buildID = buildID
        self.offset = offset
        self.isReturnAddress = isReturnAddress
    }

    /// The address to look up.
    var lookupAddress: UInt64 { isReturnAddress && offset > 0 ? offset - 1 : offset }
}

/// The function an address lies in.
public struct ResolvedSymbol: Sendable, Hashable {
    /// The full name, demangled where it could be.
    public var name: String
    /// The short stable name that ``SymbolSimplifier`` makes of it: no arguments, no `->`.
    public var simplified: String
    /// The name in the symbol table, when it is not ``name``.
    public var mangled: String?
    /// Bytes from the function's first one to the query's `offset`.
    public var symbolOffset: UInt64

    public init(name: String, simplified: String, mangled: String?, symbolOffset: UInt64) {
        self.name = name
        self.simplified = simplified
        self.mangled = mangled
        self.symbolOffset = symbolOffset
    }
}
