internal import LagModel

extension ELFFile {
    /// An entry of a symbol table (elf(5), `Elf64_Sym`).
    struct Symbol {
        static let bytes = 24
        private static let undefinedSection: UInt16 = 0
        /// From this number on it is not a section: an absolute value, a common block.
        private static let reservedSections: UInt16 = 0xff00

        /// The offset of its name in the table's strings.
        let nameOffset: UInt32
        private let info: UInt8
        private let other: UInt8
        let section: UInt16
        let address: UInt64
        let size: UInt64

        fileprivate init(_ piece: LittleEndianBytes, at base: Int) {
            nameOffset = piece.u32(base)
            info = piece.u8(base + 4)
            other = piece.u8(base + 5)
            section = piece.u16(base + 6)
            address = piece.u64(base + 8)
            size = piece.u64(base + 16)
        }

        var isLocal: Bool { info >> 4 == 0 }
        /// Whether other files cannot refer to it (`STV_INTERNAL`, `STV_HIDDEN`); linkers make such symbols local.
        var isHidden: Bool { (1...2).contains(other & 3) }
        /// Whether it is the name of the source file of the symbols after it.
        var isFile: Bool { info & 0xf == 4 }
        var isInSection: Bool { section != Self.undefinedSection && section < Self.reservedSections }
        /// Whether it is a function that is defined here, or one that is selected when the program starts.
        var isFunction: Bool { (info & 0xf == 2 || info & 0xf == 10) && isInSection }
        var isVariable: Bool { info & 0xf == 1 && isInSection }
    }

    private static let symbolsAPiece = 4096
    /// The longest names are full paths.
    private static let maximumSymbolNameBytes: UInt64 = 512

    /// Calls `body` with each symbol of a table, in order, until it returns false.
    /// - Returns: false if it is not a symbol table, or the file is too short for all of it.
    @discardableResult
    func forEachSymbol(of table: Section, _ body: (Symbol) -> Bool) -> Bool {
        guard table.entrySize == UInt64(Symbol.bytes), table.link < sections.count else { return false }
        let available = min(table.size, source.size.saturatingDifference(table.offset))
        let count = Int(clamping: available / UInt64(Symbol.bytes))
        for index in stride(from: 0, to: count, by: Self.symbolsAPiece) {
            let size = min(Self.symbolsAPiece, count - index) * Symbol.bytes
            guard let bytes = source.bytes(at: table.offset + UInt64(index * Symbol.bytes), count: size) else { return false }
            let piece = LittleEndianBytes(bytes)
            for base in stride(from: 0, to: size, by: Symbol.bytes) where !body(Symbol(piece, at: base)) { return true }
        }
        return true
    }

    /// The name of a symbol; empty if it cannot be read.
    func name(of symbol: Symbol, in table: Section) -> [UInt8] { name(at: symbol.nameOffset, in: table) }

    /// - Parameter nameOffset: in the table's strings.
    func name(at nameOffset: UInt32, in table: Section) -> [UInt8] {
        guard table.link < sections.count else { return [] }
        let strings = sections[Int(table.link)]
        let (place, overflow) = strings.offset.addingReportingOverflow(UInt64(nameOffset))
        let rest = min(
            strings.size.saturatingDifference(UInt64(nameOffset)),
            source.size.saturatingDifference(place),
            Self.maximumSymbolNameBytes
        )
        guard !overflow, let bytes = source.bytes(at: place, count: Int(rest)) else { return [] }
        return Array(bytes.prefix { $0 != 0 })
    }

    /// The bytes of loaded code from `address`, at most `count`; none if the file does not have them.
    func code(at address: UInt64, count: Int) -> [UInt8] {
        guard let section = codeSection(at: address).map({ sections[$0] }) else { return [] }
        let distance = address - section.address
        let (offset, overflow) = section.offset.addingReportingOverflow(distance)
        return overflow ? [] : source.bytes(at: offset, count: min(count, Int(clamping: section.size - distance))) ?? []
    }
}
