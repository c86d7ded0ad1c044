internal import LagModel

/// Finds the functions that contain some addresses in one pass over a symbol table; keeps no table.
///
/// Cost: the table's bytes are read once (24 a symbol), with a binary search among the requested addresses for each; names are
/// read only for the final results.
struct SymbolTableSearch {
    struct Found {
        let address: UInt64
        let rawName: [UInt8]
        /// The names of other functions of the same size that begin there: aliases, or functions that a linker has folded into
        /// one.
        let otherNames: [[UInt8]]
        /// The function's first address.
        let start: UInt64
        /// Its bytes; 0: not known.
        let size: UInt64
    }

    /// Values of elf(5).
    private enum Symbol {
        static let bytes = 24
        static let noType: UInt8 = 0
        static let function: UInt8 = 2
        static let indirectFunction: UInt8 = 10
        static let local: UInt8 = 0
        static let undefinedSection: UInt16 = 0
    }

    private struct Candidate {
        let start: UInt64
        let section: UInt16
        let isLocal: Bool
        let size: UInt64
        /// Each function that begins at one address may have a name.
        var nameOffsets: [UInt32]
        /// Local names of the same function, if there are others.
        var lesserNameOffsets: [UInt32] = []

        var allNameOffsets: [UInt32] { nameOffsets + lesserNameOffsets }
    }

    /// A symbol of the table; whether its name may be a function's name is checked once, when it matters.
    private struct Entry {
        let start: UInt64
        let section: UInt16
        let isLocal: Bool
        let size: UInt64
        let nameOffset: UInt32
        var isNamed: Bool?
    }

    /// Symbols are read in pieces of this many.
    private static let symbolsAPiece = 2048
    /// Compilers create two or three; a damaged or malicious file may contain any number.
    private static let maximumNames = 8
    /// A longer name is treated as damage. Swift's longest names have some thousands of bytes.
    private static let maximumNameBytes = 32_768

    private let addresses: [UInt64]
    private var sized: [Candidate?]
    private var unsized: [Candidate?]
    /// For each address, the last start of any function in the gap before it.
    private var lastStart: [UInt64?]
    /// Where `main` begins, if the linker defined it as another name of a function, and so without a size. SwiftPM has the main
    /// function of a module `Shop` compiled as `Shop_main`.
    private var mainStart: UInt64?
    private static let main = Array("main".utf8)

    /// - Parameter addresses: in ascending order, each once.
    init(addresses: [UInt64]) {
        self.addresses = addresses
        sized = Array(repeating: nil, count: addresses.count)
        unsized = sized
        lastStart = Array(repeating: nil, count: addresses.count)
    }

    /// Searches one table of `file`. Returns the results; damage ends the search early.
    mutating func search(_ file: borrowing ELFFile, table: ELFFile.Section) -> [Found] {
        guard table.entrySize == UInt64(Symbol.bytes) else { return [] }
        guard table.link < file.sections.count else { return [] }
        let strings = file.sections[Int(table.link)]
        let entryBytes = Int(table.entrySize)
        // The file may be too short for the table; the part that exists is still usable.
        let available = min(table.size, file.source.size.saturatingDifference(table.offset))
        let count = Int(clamping: available / UInt64(entryBytes))

        var index = 0
        while index < count {
            let pieceCount = min(Self.symbolsAPiece, count - index)
            let offset = table.offset + UInt64(index) * UInt64(entryBytes)
            guard let piece = file.source.bytes(at: offset, count: pieceCount * entryBytes) else { break }
            consider(
                LittleEndianBytes(piece),
                entryBytes: entryBytes,
                isPartial: table.type == ELFFile.SectionType.dynamicSymbols,
                file,
                strings
            )
            index += pieceCount
        }
        return results(file, strings)
    }

    private mutating func consider(
        _ piece: LittleEndianBytes,
        entryBytes: Int,
        isPartial: Bool,
        _ file: borrowing ELFFile,
        _ strings: ELFFile.Section
    ) {
        for base in stride(from: 0, to: piece.count, by: entryBytes) {
            let info = piece.u8(base + 4)
            let type = info & 0xf
            let section = piece.u16(base + 6)
            let start = piece.u64(base + 8)
            let size = piece.u64(base + 16)
            let isLocal = info >> 4 == Symbol.local
            guard section != Symbol.undefinedSection else { continue }
            switch type {
            case Symbol.function, Symbol.indirectFunction: break
            case Symbol.noType where size > 0: break
            // An assembler function without `.type`; a local symbol may be a label in one.
            case Symbol.noType where !isLocal && Int(section) < file.sections.count:
                guard file.sections[Int(section)].isCode, file.sections[Int(section)].contains(start) else { continue }
            default: continue
            }

            let first = firstAddress(atLeast: start)
            guard first < addresses.count else { continue }
            lastStart[first] = max(lastStart[first] ?? 0, start)
            var entry = Entry(start: start, section: section, isLocal: isLocal, size: size, nameOffset: piece.u32(base))
            if size == 0 {
                if !isLocal, Self.begin(of: entry.nameOffset, 5, file, strings) == Self.main + [0] { mainStart = start }
                // It extends to the next function. A table with only exported ones does not show where that is.
                guard !isPartial else { continue }
                offer(&entry, file, strings, current: &unsized[first])
                continue
            }
            var position = first
            while position < addresses.count, addresses[position] - start < size {
                offer(&entry, file, strings, current: &sized[position])
                position += 1
            }
        }
    }

    private func offer(
        _ entry: inout Entry,
        _ file: borrowing ELFFile,
        _ strings: ELFFile.Section,
        current: inout Candidate?
    ) {
        let isAtSamePlace = current?.start == entry.start
        if let current {
            guard entry.start >= current.start else { return }
            if isAtSamePlace, current.size != entry.size, entry.isLocal, !current.isLocal { return }
            if isAtSamePlace, current.allNameOffsets.count >= Self.maximumNames, entry.isLocal || !current.isLocal { return }
            if isAtSamePlace, current.allNameOffsets.contains(entry.nameOffset) { return }
        }
        let isNamed = entry.isNamed ?? Self.isNamed(entry.nameOffset, file, strings)
        entry.isNamed = isNamed
        guard isNamed else { return }
        switch current {
        case let known? where isAtSamePlace && entry.isLocal == known.isLocal: current?.nameOffsets.append(entry.nameOffset)
        case _? where isAtSamePlace && entry.isLocal: current?.lesserNameOffsets.append(entry.nameOffset)
        default:
            let lesser = isAtSamePlace && current?.size == entry.size ? current?.nameOffsets : nil
            current = Candidate(
                start: entry.start,
                section: entry.section,
                isLocal: entry.isLocal,
                size: entry.size,
                nameOffsets: [entry.nameOffset],
                lesserNameOffsets: lesser ?? []
            )
        }
    }

    /// Whether a name that is not a mapping mark begins there.
    private static func isNamed(_ offset: UInt32, _ file: borrowing ELFFile, _ strings: ELFFile.Section) -> Bool {
        let name = begin(of: offset, 3, file, strings).prefix { $0 != 0 }
        return !name.isEmpty && !isMappingSymbol(Array(name))
    }

    /// The first bytes of a name and what follows it; fewer at the end of the strings.
    private static func begin(of offset: UInt32, _ count: UInt64, _ file: borrowing ELFFile, _ strings: ELFFile.Section)
        -> [UInt8]
    {
        let rest = strings.size.saturatingDifference(UInt64(offset))
        let (place, overflow) = strings.offset.addingReportingOverflow(UInt64(offset))
        return rest > 0 && !overflow ? file.source.bytes(at: place, count: Int(min(count, rest))) ?? [] : []
    }

    private func results(_ file: borrowing ELFFile, _ strings: ELFFile.Section) -> [Found] {
        var found: [Found] = []
        // Of the function before: addresses of one function follow one another.
        var (nameOffsets, plainest, others): ([UInt32], [UInt8], [[UInt8]]) = ([], [], [])
        var nearestStart: UInt64?
        var nearestUnsized: Candidate?
        for (index, address) in addresses.enumerated() {
            if let start = lastStart[index] { nearestStart = start }
            if let candidate = unsized[index] { nearestUnsized = candidate }
            var candidate = sized[index]
            // Without a size it extends to the next function, at most to the end of its section.
            if candidate == nil, let last = nearestUnsized, last.start == nearestStart, Int(last.section) < file.sections.count,
                file.sections[Int(last.section)].contains(last.start), file.sections[Int(last.section)].contains(address)
            {
                candidate = last
            }
            guard let candidate else { continue }
            if candidate.allNameOffsets != nameOffsets {
                nameOffsets = candidate.allNameOffsets
                (plainest, others) = Self.names(of: candidate, file, strings)
            }
            guard !plainest.isEmpty else { continue }
            found.append(
                Found(
                    address: address,
                    rawName: candidate.start == mainStart ? Self.main : plainest,
                    otherNames: others,
                    start: candidate.start,
                    size: candidate.size
                )
            )
        }
        return found
    }

    /// Its plainest name, empty if none can be read, and its other names. A label without a size is not another function.
    private static func names(of candidate: Candidate, _ file: borrowing ELFFile, _ strings: ELFFile.Section)
        -> (plainest: [UInt8], others: [[UInt8]])
    {
        let names = candidate.nameOffsets.compactMap { name(at: $0, file, strings) }
        guard let plainest = names.min(by: isPlainer) else { return ([], []) }
        guard candidate.size > 0 else { return (plainest, []) }
        let lesser = candidate.lesserNameOffsets.compactMap { name(at: $0, file, strings) }
        return (plainest, (names + lesser).filter { $0 != plainest })
    }

    /// The first index whose address is not below `start`.
    private func firstAddress(atLeast start: UInt64) -> Int {
        var low = 0
        var high = addresses.count
        while low < high {
            let middle = (low + high) / 2
            if addresses[middle] < start { low = middle + 1 } else { high = middle }
        }
        return low
    }

    private static func name(at offset: UInt32, _ file: borrowing ELFFile, _ strings: ELFFile.Section) -> [UInt8]? {
        guard UInt64(offset) < strings.size else { return nil }
        var name: [UInt8] = []
        var position = UInt64(offset)
        while name.count < maximumNameBytes, position < strings.size {
            let count = Int(min(256, strings.size - position))
            let (place, overflow) = strings.offset.addingReportingOverflow(position)
            guard !overflow, let piece = file.source.bytes(at: place, count: count) else { return nil }
            if let end = piece.firstIndex(of: 0) {
                name.append(contentsOf: piece[..<end])
                return name
            }
            name.append(contentsOf: piece)
            position += UInt64(count)
        }
        return nil
    }

    /// `$x`, `$d`, `$a`, `$t`, alone or followed by a dot: marks of the ARM ABI between code and data, not functions (ELF for the
    /// Arm 64-bit Architecture, "Mapping symbols").
    static func isMappingSymbol(_ name: [UInt8]) -> Bool {
        guard name.count >= 2, name[0] == UInt8(ascii: "$"), "xdat".utf8.contains(name[1]) else { return false }
        return name.count == 2 || name[2] == UInt8(ascii: ".")
    }

    /// Chooses among several names of one function: fewer leading underscores, no dotted or versioned suffix, shorter, then by
    /// bytes, so that the choice does not depend on the table's order.
    private static func isPlainer(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        let leftRank = decoration(left)
        let rightRank = decoration(right)
        if leftRank != rightRank { return leftRank < rightRank }
        if left.count != right.count { return left.count < right.count }
        return left.lexicographicallyPrecedes(right)
    }

    private static func decoration(_ name: [UInt8]) -> Int {
        let underscores = name.prefix { $0 == UInt8(ascii: "_") }.count
        let hasSuffix = name.contains(UInt8(ascii: "@")) || name.contains(UInt8(ascii: "."))
        return underscores + (hasSuffix ? 1 : 0)
    }
}
