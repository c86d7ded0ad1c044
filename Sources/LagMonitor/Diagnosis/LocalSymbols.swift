internal import LagModel

/// The local symbols of a file and the object files that they come from.
///
/// A compiler writes its source's name (`STT_FILE`) before an object's local symbols, and linkers write the objects in their
/// order. All local symbols precede the others (System V ABI, "Symbol Table"); names of objects after that are not an object's.
struct LocalSymbols {
    struct Symbol {
        let address: UInt64
        let section: UInt16
        let isFunction: Bool
        let isHidden: Bool
        /// The offset of its name in the table's strings.
        let nameOffset: UInt32
        /// Nil: of the object whose name precedes it, or of one without a name.
        var object: Int?
    }

    /// A table with more local symbols, or with more objects, is not read: the largest browsers have some hundred thousand.
    private static let maximumSymbols = 1 << 20
    private static let maximumObjects = 1 << 18
    /// How many local symbols of an object are examined for its language.
    private static let maximumClassified = 8

    /// The origin of each object.
    var origins: [CodeOrigin] = []
    /// In the order of the table.
    var symbols: [Symbol] = []
    /// gcc's whole-program optimiser creates objects without a name; after the last one come functions that were global in any
    /// object. Nil: the last object has a name.
    var unnamed: Int?

    /// - Returns: nil if the table is too long, or cannot be read to its end.
    init?(in file: borrowing ELFFile, table: ELFFile.Section) {
        var origins: [CodeOrigin] = []
        var symbols: [Symbol] = []
        var classified = 0
        var isUnnamed = false
        let isRead = file.forEachSymbol(of: table) { symbol in
            guard symbol.isLocal, symbols.count < Self.maximumSymbols, origins.count < Self.maximumObjects else { return false }
            if symbol.isFile {
                let name = file.name(of: symbol, in: table)
                isUnnamed = name.isEmpty
                origins.append(ObjectName.origin(String(decoding: name, as: UTF8.self)))
                classified = 0
            } else if let origin = origins.last, symbol.isInSection {
                if symbol.isFunction || symbol.isVariable {
                    symbols.append(
                        Symbol(
                            address: symbol.address,
                            section: symbol.section,
                            isFunction: symbol.isFunction,
                            isHidden: symbol.isHidden,
                            nameOffset: symbol.nameOffset,
                            object: origins.count - 1
                        )
                    )
                }
                guard origin == .packaged, classified < Self.maximumClassified else { return true }
                classified += 1
                if ObjectName.lacksSource(file.name(of: symbol, in: table)) { origins[origins.count - 1] = .own }
            }
            return true
        }
        guard isRead, symbols.count < Self.maximumSymbols, origins.count < Self.maximumObjects else { return nil }
        unnamed = isUnnamed ? origins.count - 1 : nil
        if let unnamed { symbols.removeAll { $0.object == unnamed } }
        self.origins = origins
        self.symbols = symbols
    }

    /// The places of the symbols to which only code of their objects can refer, by their addresses. Any code can refer to one
    /// that is also global (gcc's `compress.localalias`), or was.
    func referable(in file: borrowing ELFFile, table: ELFFile.Section) -> [UInt64: Int] {
        var places: [UInt64: Int] = [:]
        for (place, symbol) in symbols.enumerated() where !symbol.isHidden { places[symbol.address] = place }
        for symbol in symbols where symbol.isHidden { places[symbol.address] = nil }
        file.forEachSymbol(of: table) { symbol in
            if !symbol.isLocal, symbol.isInSection { places[symbol.address] = nil }
            return true
        }
        return places
    }
}
