/// The C library in a program that it was linked into (`-static`): its functions lie in the program's own file, and are not the program's own.
///
/// Linkers lay out code in the order of their input: what lies between the C library's first function with a name of its own and its last one
/// is its code, also what has a name that any program may use (`msort_with_tmp`, `fork`). Around that, where the mathematical library and libraries of the program's own may be, and all over where `main` lies
/// further back, as lld puts what it has optimised as a whole, only names count: C reserves those that begin with two underscores (C11, 7.1.3).
struct StaticLibrary {
    /// From its first function with a name of its own to its last one; nil: that is not known.
    private let code: ClosedRange<UInt64>?

    private static let maximumStringBytes: UInt64 = 64 << 20
    /// Of all static programs of glibc and musl.
    private static let startFunction = Array("__libc_start_main".utf8)
    private static let ownPrefix = Array("__libc_".utf8)
    /// Of its functions, which no other library has.
    private static let innerPrefixes = ["__libc_", "_IO_", "_dl_", "_nl_"].map { Array($0.utf8) }
    /// Start-up code, which is linked first, has it as well.
    private static let startUpPrefix = Array("__libc_csu_".utf8)
    private static let reservedPrefixes = ["__", "_IO_", "_dl_", "_nl_"]
    /// What Fortran puts into the names of a module's functions: `__shop_MOD_load`.
    private static let moduleMark = "_MOD_"

    /// Reads the table once, and its names: some milliseconds for a hundred thousand symbols.
    /// - Returns: nil where the program has no C library in it.
    init?(in file: borrowing ELFFile, table: ELFFile.Section) {
        guard table.link < file.sections.count else { return nil }
        let section = file.sections[Int(table.link)]
        guard section.size <= Self.maximumStringBytes,
            let strings = file.source.bytes(at: section.offset, count: Int(section.size))
        else { return nil }
        var first: UInt64?
        var last: UInt64 = 0
        var main: UInt64?
        var isThere = false
        file.forEachSymbol(of: table) { symbol in
            guard symbol.isFunction else { return true }
            let name = strings.dropFirst(Int(symbol.nameOffset)).prefix(Self.startFunction.count + 1)
            let address = symbol.address
            if name.starts(with: "main\0".utf8) { main = address }
            if Self.innerPrefixes.contains(where: { name.starts(with: $0) }) { last = max(last, address) }
            guard name.starts(with: Self.ownPrefix), !name.starts(with: Self.startUpPrefix) else { return true }
            if name.starts(with: Self.startFunction), name.last == 0 { isThere = true }
            first = min(first ?? address, address)
            return true
        }
        guard isThere, let first else { return nil }
        code = main.map { $0 < first } == true ? first...max(first, last) : nil
    }

    /// Whether a function is its code.
    /// - Parameters:
    ///   - address: the function's first one.
    ///   - names: all that it has in the symbol table.
    func holds(_ address: UInt64, names: [String]) -> Bool {
        if code?.contains(address) == true { return true }
        return names.contains { name in
            Self.reservedPrefixes.contains(where: name.hasPrefix) && name.firstRange(of: Self.moduleMark) == nil
        }
    }
}
