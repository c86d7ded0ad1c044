/// An address whose name is requested.
package struct SymbolQuery: Sendable, Hashable {
    /// The file's path as the memory map names it; `[vdso]` is the kernel's image in this process.
    package var modulePath: String
    /// The build-id of the mapped file, hex; empty if it is not known.
    package var buildID: String
    /// The ELF virtual address: the address in the process minus the load bias.
    package var offset: UInt64
    /// The address is the one *after* a call, so the call itself is looked up: if a call is at a function's very end (to a
    /// function that never returns), its return address is in the next function.
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

/// The function that contains an address.
package struct ResolvedSymbol: Sendable, Equatable {
    /// The full name, demangled if possible.
    package var name: String
    /// The short stable name from ``SymbolSimplifier``: no arguments, no `->`.
    package var simplified: String
    /// The name in the symbol table, if it differs from ``name``.
    package var mangled: String?
    /// Bytes from the function's start to the query's `offset`.
    package var symbolOffset: UInt64
    /// The ELF virtual address of the function's start.
    package var start: UInt64
    /// The function's bytes; 0: not known.
    package var size: UInt64 = 0
    /// Functions of other names have the same code: identical functions that the linker has folded (`--icf`) or the compiler has
    /// merged. It is not known which of them was called.
    package var isFolded = false
    /// It belongs to the C library, in a program into which that was linked (``StaticLibrary``), or to its language's library
    /// (``CompiledLibraries``).
    package var isOfRuntime = false
    /// The origin of its object file.
    package var origin = CodeOrigin.unknown
    /// At most one: the function that a direct call before the query's return address leads to. It is active even if it has no
    /// frame: a function that ends in a call can leave by a jump, and the function that it jumps to returns for it.
    package var callees: [ResolvedSymbol] = []
    /// Whether that instruction calls a pointer; false also if it is not known.
    package var callsPointer = false
}

/// The origin of the object file from which a function was linked (``ObjectFiles``).
package enum CodeOrigin: Sendable {
    /// An object with its source's name: compiled for this program.
    case own
    /// One of a packaged library.
    case packaged
    /// One or the other: it is between such objects.
    case between
    /// Not known.
    case unknown
}
