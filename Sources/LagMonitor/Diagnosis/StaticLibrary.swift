/// The C library in a program into which it was linked (`-static`): its functions are in the program's own file, but are not the
/// program's own.
///
/// Linkers lay out code in the order of their input. So code between the C library's first function with an unmistakable name and
/// its last one belongs to it, even if any program may use the function's name (`msort_with_tmp`, `fork`). Around that range,
/// where the mathematical library and the program's own libraries may be, only names count. They count everywhere if `main` comes
/// after the range, as lld lays out a program with whole-program optimisation. C reserves names that begin with two underscores
/// (C11, 7.1.3).
struct StaticLibrary {
    /// From its first function with an unmistakable name to its last one; nil: not known.
    private let code: ClosedRange<UInt64>?

    private static let maximumStringBytes: UInt64 = 64 << 20
    /// In all static programs of glibc and musl.
    private static let startFunction = Array("__libc_start_main".utf8)
    private static let ownPrefix = Array("__libc_".utf8)
    /// Names of its functions that no other library has.
    private static let innerPrefixes = ["__libc_", "_IO_", "_dl_", "_nl_"].map { Array($0.utf8) }
    /// Start-up code, which is linked first, has this prefix as well.
    private static let startUpPrefix = Array("__libc_csu_".utf8)
    private static let reservedPrefixes = ["__", "_IO_", "_dl_", "_nl_"]
    /// A part of the names of a Fortran module's functions: `__shop_MOD_load`.
    private static let moduleMark = "_MOD_"

    /// Reads the table and its names once: some milliseconds for a hundred thousand symbols.
    /// - Returns: nil if the program does not contain a C library.
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

    /// Whether a function belongs to it.
    /// - Parameters:
    ///   - address: the start of the function.
    ///   - names: all its names in the symbol table.
    func holds(_ address: UInt64, names: [String]) -> Bool {
        if code?.contains(address) == true { return true }
        return names.contains { name in
            Self.reservedPrefixes.contains(where: name.hasPrefix) && name.firstRange(of: Self.moduleMark) == nil
        }
    }
}
