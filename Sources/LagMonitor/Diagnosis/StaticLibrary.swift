internal import LagModel

/// The C library in a program that it was linked into (`-static`): its functions lie in the program's own file, and are not the program's own.
///
/// Linkers lay out code in the order of their input: what lies between the C library's first function with a name of its own and its last one
/// is its code, also what has a name that any program may use (`msort_with_tmp`, `fork`). Around that, where the mathematical library and libraries of the program's own may be, and all over where `main` lies
/// further back, as lld puts what it has optimised as a whole, only names count: C reserves those that begin with two underscores (C11, 7.1.3).
struct StaticLibrary {
    /// From its first function with a name of its own to its last one; nil: that is not known.
    private let code: ClosedRange<UInt64>?

    private enum Symbol {
        static let bytes = 24
        static let function: UInt8 = 2
        static let undefinedSection: UInt16 = 0
    }

    private static let maximumStringBytes: UInt64 = 64 << 20
    private static let symbolsAPiece = 4096
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
        guard table.entrySize == UInt64(Symbol.bytes), table.link < file.sections.count else { return nil }
        let section = file.sections[Int(table.link)]
        guard section.size <= Self.maximumStringBytes,
            let strings = file.source.bytes(at: section.offset, count: Int(section.size))
        else { return nil }
        var first: UInt64?
        var last: UInt64 = 0
        var main: UInt64?
        var isThere = false
        // What the file is too short for is not there.
        let available = min(table.size, file.source.size.saturatingDifference(table.offset))
        let count = Int(clamping: available / UInt64(Symbol.bytes))
        for index in stride(from: 0, to: count, by: Self.symbolsAPiece) {
            let size = min(Self.symbolsAPiece, count - index) * Symbol.bytes
            guard let bytes = file.source.bytes(at: table.offset + UInt64(index * Symbol.bytes), count: size) else { break }
            let piece = LittleEndianBytes(bytes)
            for base in stride(from: 0, to: size, by: Symbol.bytes) {
                guard piece.u8(base + 4) & 0xf == Symbol.function, piece.u16(base + 6) != Symbol.undefinedSection else {
                    continue
                }
                let name = strings.dropFirst(Int(piece.u32(base))).prefix(Self.startFunction.count + 1)
                let address = piece.u64(base + 8)
                if name.starts(with: "main\0".utf8) { main = address }
                if Self.innerPrefixes.contains(where: { name.starts(with: $0) }) { last = max(last, address) }
                guard name.starts(with: Self.ownPrefix), !name.starts(with: Self.startUpPrefix) else { continue }
                if name.starts(with: Self.startFunction), name.last == 0 { isThere = true }
                first = min(first ?? address, address)
            }
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
