/// An address to find a name for.
package struct SymbolQuery: Sendable, Hashable {
    /// The file's path as the memory map names it; `[vdso]` is the kernel's image in this process.
    package var modulePath: String
    /// The build-id of what is mapped, hex; empty when it is not known.
    package var buildID: String
    /// The ELF virtual address: the address in the process less the load bias.
    package var offset: UInt64
    /// The address is the one *after* a call: the call itself is looked up, for a call at a function's very end (to a
    /// function that never returns) has its return address in the next function.
    package var isReturnAddress: Bool

    package init(modulePath: String, buildID: String, offset: UInt64, isReturnAddress: Bool) {
        self.modulePath = modulePath
        self.buildID = buildID
        self.offset = offset
        self.isReturnAddress = isReturnAddress
    }

    /// The address to look up.
    var lookupAddress: UInt64 { isReturnAddress && offset > 0 ? offset - 1 : offset }
}

/// The function an address lies in.
package struct ResolvedSymbol: Sendable, Hashable {
    /// The full name, demangled where it could be.
    package var name: String
    /// The short stable name that ``SymbolSimplifier`` makes of it: no arguments, no `->`.
    package var simplified: String
    /// The name in the symbol table, when it is not ``name``.
    package var mangled: String?
    /// Bytes from the function's first one to the query's `offset`.
    package var symbolOffset: UInt64
    /// Functions of other names have the same code, as identical ones that the linker has folded (`--icf`) or the compiler has made one of. Which of
    /// them was called is not known.
    package var isFolded = false
    /// It is the C library's, in a program that was linked with it (``StaticLibrary``), or its language's (``CompiledLibraries``).
    package var isOfRuntime = false
    /// Whose object file it comes from.
    package var origin = CodeOrigin.unknown
}

/// Whose object file a function was linked from (``ObjectFiles``).
package enum CodeOrigin: Sendable {
    /// One that has its source's name: compiled for this program.
    case own
    /// One of a packaged library.
    case packaged
    /// One or the other: it lies between such.
    case between
    /// Nothing says so.
    case unknown
}
